package gce

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKnownAnswerIsNotCheckedAgain(t *testing.T) {
	var v valid
	page := []byte(`{"items":[]}`)
	for range 2 {
		assert.True(t, v.isJSON(page))
		assert.False(t, v.isJSON([]byte(`{"items":[`)))
	}
	assert.Len(t, v.known, 1)
	for i := range 2 * mostValid {
		assert.True(t, v.isJSON(fmt.Append(nil, i)))
	}
	assert.LessOrEqual(t, len(v.known), mostValid)
}
