package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHostIsGivenAgainOnOrder(t *testing.T) {
	for _, again := range []bool{true, false} {
		w := granted(t, slow(), "n0")
		host := func() string {
			w.Advance(time.Minute)
			return w.instance("us-central1-a", "n0").GetResourceStatus().GetPhysicalHost()
		}
		first := host()
		assert.Regexp(t, "^[0-9a-f]+/[0-9a-f]+/[0-9a-f]+$", first)
		if again {
			w.commanded("POST", "vms/n0/same-host", "")
		}
		w.post(groupList+"/m/deleteInstances", `{"instances":["zones/us-central1-a/instances/n0"]}`)
		w.Advance(time.Minute)
		w.givenRequest("m", "r2", "n0")
		assert.Equal(t, again, host() == first)
	}
}
