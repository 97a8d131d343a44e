package ask

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDaemonListeningEverywhereIsDialedLocally(t *testing.T) {
	for address, want := range map[string]string{
		":8918": "localhost:8918", "127.0.0.1:8918": "127.0.0.1:8918", "ctl1:8918": "ctl1:8918", "[::1]:8918": "[::1]:8918",
	} {
		assert.Equal(t, want, reachable(address))
	}
}
