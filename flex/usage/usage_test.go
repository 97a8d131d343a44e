package usage

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMarkSurvivesWrappingAndKeepsTheError(t *testing.T) {
	err := fmt.Errorf("init: %w", Wrap(fs.ErrNotExist))
	assert.True(t, Is(err))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.EqualError(t, err, "init: file does not exist")
	assert.True(t, Is(Errorf("--nodes: %d", 0)))
	assert.False(t, Is(errors.New("failed")))
	assert.NoError(t, Wrap(nil))
}
