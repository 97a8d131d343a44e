package chaos

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCallsOfOneInstantHaveTheSameLotWhicheverComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := ails{dice: 17}
		first := a.next(compute, "list requests", "daemon g1")
		assert.Equal(t, first, a.next(compute, "list requests", "daemon g1"))
		other := a.next(compute, "list requests", "daemon g2")
		assert.NotEqual(t, first.way, other.way, "another object has another lot")
		time.Sleep(time.Nanosecond)
		later := a.next(compute, "list requests", "daemon g1")
		assert.NotEqual(t, first.way, later.way, "so has a later call")
	})
}

func TestADigestDoesNotDependOnTheIdsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		digest := func(text string) string {
			j := journal{begun: time.Now()}
			j.note("cannot read %s", text)
			return j.digest()
		}
		assert.Equal(t, digest(`{"clientOperationId":"5f0c-1","name":"a"}`), digest(`{"clientOperationId":"77aa-2","name":"a"}`))
		assert.Equal(t, digest(`{\"clientOperationId\":\"5f0c-1\"}`), digest(`{\"clientOperationId\":\"77aa-2\"}`))
		assert.NotEqual(t, digest(`{"clientOperationId":"5f0c-1","name":"a"}`), digest(`{"clientOperationId":"5f0c-1","name":"b"}`))
	})
}
