package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyYesConfirms(t *testing.T) {
	for answer, yes := range map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		var out strings.Builder
		err := Confirm(t.Context(), &out, strings.NewReader(answer))
		assert.Equal(t, yes, err == nil, "%q", answer)
		assert.Equal(t, "Proceed? [y/N] ", out.String())
	}
}
