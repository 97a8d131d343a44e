package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The modes of the file. Everyone may read it, unless Slurm hides jobs from other users.
const (
	openMode    = 0o644
	privateMode = 0o640
	othersRead  = 0o004
)

// Append appends entries to the cluster's file, and creates the file if necessary. It opens the
// file only for this write, so that the file can be rotated at any time. Two processes may append
// to the same file, because each writes complete lines in a single write. If Slurm hides jobs,
// private keeps other users from reading the file.
func Append(dir, cluster string, private bool, entries []Entry) error {
	f, err := openLines(Path(dir, cluster), private)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	defer f.Close()
	var lines []byte
	if torn(f) {
		lines = []byte{'\n'}
	}
	for i := range entries {
		line, err := json.Marshal(&entries[i])
		if err != nil {
			return fmt.Errorf("write the history: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if _, err := f.Write(lines); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// openLines opens the file. It refuses a link, which could point to another file.
func openLines(path string, private bool) (*os.File, error) {
	const flags = os.O_APPEND | os.O_RDWR | unix.O_NOFOLLOW
	mode := os.FileMode(openMode)
	if private {
		mode = privateMode
	}
	f, err := os.OpenFile(path, flags, 0)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		f, err = os.OpenFile(path, flags|os.O_CREATE, mode)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (isNew || private && info.Mode()&othersRead != 0) {
		err = f.Chmod(mode) // independent of the umask
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// torn reports whether the last writer failed to finish its line.
func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}
