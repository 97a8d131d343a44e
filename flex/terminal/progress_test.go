package terminal

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFileGetsNoProgressLine(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer file.Close()
	was := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = was }()
	synctest.Test(t, func(*testing.T) {
		var f Progress
		end := f.Begin("looking at Slurm and Compute")
		time.Sleep(time.Hour)
		end()
	})
	b, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Empty(t, b)
}
