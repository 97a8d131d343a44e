package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The modes of the file: everybody may read it, unless Slurm hides jobs from users
// who do not own them.
const (
	openMode    = 0o644
	privateMode = 0o640
	othersRead  = 0o004
)

// Append appends entries to the cluster's file, which it makes if there is none.
// The file is opened for that alone, so that it can be rotated at any time, and
// two processes may append to it: each writes whole lines, all at once. Where
// Slurm hides jobs, private keeps other users from reading it.
func Append(dir, cluster string, private bool, entries []Entry) error {
	var lines []byte
	for i := range entries {
		line, err := json.Marshal(&entries[i])
		if err != nil {
			return fmt.Errorf("write the history: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	f, err := openLedger(Path(dir, cluster), private)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	defer f.Close()
	if torn(f) {
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err := f.Write(lines); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// openLedger opens the file, which must be no link: it may lead elsewhere.
func openLedger(path string, private bool) (*os.File, error) {
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
		err = f.Chmod(mode) // whatever the umask is
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// torn reports whether the last writer did not come to the end of a line.
func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}
