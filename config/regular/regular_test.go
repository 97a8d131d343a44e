package regular

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/test/must"
)

// C15: only regular files are read, up to a size limit.
func TestOnlyRegularFilesOfLimitedSizeAreRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("file"), []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(path("huge"), nil, 0o600))
	require.NoError(t, os.Truncate(path("huge"), 10<<30))
	require.NoError(t, unix.Mkfifo(path("pipe"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", path("link")))
	text, err := Read(path("file"), 1<<20)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	for name, want := range map[string]string{
		path("huge"): path("huge") + ": larger than 1 MiB",
		path("pipe"): "open " + path("pipe") + ": is not a regular file; use a regular file",
		path("link"): "open " + path("link") + ": is not a regular file; use a regular file",
		"/dev/zero":  "open /dev/zero: is not a regular file; use a regular file",
		dir:          "open " + dir + ": is a directory; use a file",
		path("gone"): "open " + path("gone") + ": no such file or directory",
	} {
		_, err := Read(name, 1<<20)
		assert.EqualError(t, err, want)
	}
}

// C15: reading a pipe that has no writer returns at once, and a writer that keeps a pipe open without
// writing is waited for only a short time.
func TestSilentPipeIsEmptyOrTimesOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	read := func() (string, error) {
		f := must.Get(Open(path, true))
		defer f.Close()
		text, err := io.ReadAll(f)
		return string(text), err
	}
	text, err := read()
	require.NoError(t, err)
	assert.Empty(t, text)
	defer must.Get(os.OpenFile(path, os.O_RDWR, 0)).Close()
	_, err = read()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = Open("/dev/zero", true)
	assert.Error(t, err)
}
