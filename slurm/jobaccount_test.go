package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyJobsThatHaveAnAccountAreCharged(t *testing.T) {
	out := "812|ml-research\n813|(null)\n814|\n815|N/A\nx|ml\n816|a|b\n\n817|physics\n"
	assert.Equal(t, map[uint32]string{812: "ml-research", 817: "physics"}, ParseAccounts([]byte(out)))
}
