package fakegce

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsJustWithinTheLimitsIsTaken(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("global/instanceTemplates", fmt.Sprintf(`{"name":"t","description":%q,"properties":{"machineType":"g2-standard-4",%s,
		"labels":{"slurm_cluster-1":"größe_2"},"metadata":{"items":[{"key":"a-B_9","value":%q}]}}}`,
		strings.Repeat("ä", maxDescription), bootable, strings.Repeat("x", maxMetadata)))
	_, body := w.ask(http.MethodGet, "global/instanceTemplates/t", "")
	for _, kind := range []string{"compute#metadata", "compute#attachedDisk", "compute#networkInterface"} {
		assert.Contains(t, body, kind)
	}
}

func TestTheNameOfAVersionIsKept(t *testing.T) {
	w := newWorld(t, Options{})
	w.post(groupList, `{"name":"g","targetSize":0,"versions":[{"name":"first","instanceTemplate":"regions/us-central1/instanceTemplates/a3"}]}`)
	_, body := w.ask(http.MethodGet, groupList+"/g?fields=versions/name", "")
	require.JSONEq(t, `{"versions":[{"name":"first"}]}`, body)
}
