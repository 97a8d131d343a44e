package config

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMarkSurvivesWrappingAndKeepsTheError(t *testing.T) {
	err := fmt.Errorf("init: %w", Misuse(fs.ErrNotExist))
	assert.True(t, IsMisuse(err))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.EqualError(t, err, "init: file does not exist")
	assert.True(t, IsMisuse(Misusef("--nodes: %d", 0)))
	assert.False(t, IsMisuse(errors.New("failed")))
	assert.NoError(t, Misuse(nil))
}
