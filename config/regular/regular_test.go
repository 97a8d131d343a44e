package regular

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// C15: what is no file is refused at once, and a file is read up to a limit.
func TestOnlyRegularFilesOfALimitedSizeAreRead(t *testing.T) {
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
		path("pipe"): "open " + path("pipe") + ": is no regular file; give one",
		path("link"): "open " + path("link") + ": is no regular file; give one",
		"/dev/zero":  "open /dev/zero: is no regular file; give one",
		dir:          "open " + dir + ": is a directory; give a file",
		path("gone"): "open " + path("gone") + ": no such file or directory",
	} {
		_, err := Read(name, 1<<20)
		assert.EqualError(t, err, want)
	}
}

// C15: a pipe into which nobody writes is empty, and not waited for.
func TestAPipeWithoutAWriterIsEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	f, err := OpenPipe(path)
	require.NoError(t, err)
	defer f.Close()
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Empty(t, text)
	_, err = OpenPipe("/dev/zero")
	assert.Error(t, err)
}

// C15: somebody who holds a pipe and writes nothing is waited for a while only.
func TestAPipeWhoseWriterSaysNothingIsGivenUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer writer.Close()
	f, err := OpenPipe(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.ReadAll(f)
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
