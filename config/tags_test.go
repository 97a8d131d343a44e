package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnknownFormInATagIsABug(t *testing.T) {
	assert.PanicsWithValue(t, `a struct tag of package config: unknown form "hourz"`, func() { (&section{}).formed("hourz", "quiet", "") })
}
