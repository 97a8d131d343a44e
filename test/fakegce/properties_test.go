package fakegce

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTemplateMayHaveALongDescriptionAndLabels(t *testing.T) {
	w := newWorld(t, Options{})
	template := func(length int) string {
		return fmt.Sprintf(`{"name":"t%d","description":%q,"properties":{"machineType":"g2-standard-4","labels":{"slurm_cluster-1":"größe_2"},%s}}`,
			length, strings.Repeat("ä", length), bootable)
	}
	w.post("global/instanceTemplates", template(maxDescription))
	status, body := w.ask(http.MethodPost, "global/instanceTemplates", template(maxDescription+1))
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, "at most 2048 characters")
}
