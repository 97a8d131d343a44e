package must

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAttemptEndsAtItsFirstError(t *testing.T) {
	reached := false
	err := Try(func() {
		Do(nil)
		Get(os.Open("/"))
		Get(os.Open("/nowhere"))
		reached = true
	})
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.False(t, reached)
	assert.NoError(t, Try(func() {}))
	assert.PanicsWithValue(t, "a bug", func() { _ = Try(func() { panic("a bug") }) })
}
