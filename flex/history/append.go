package history

import (
	"bytes"
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
func Append[Line any](dir, cluster string, private bool, entries []Line) error {
	f, err := openLines(linesPath(dir, cluster), private)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	defer f.Close()
	var lines bytes.Buffer
	if torn(f) {
		lines.WriteByte('\n')
	}
	encoder := json.NewEncoder(&lines) // ends each line
	encoder.SetEscapeHTML(false)       // it would make a character six times as long
	for i := range entries {
		if err := encoder.Encode(&entries[i]); err != nil {
			return fmt.Errorf("write the history: %w", err)
		}
	}
	if _, err := f.Write(lines.Bytes()); err != nil {
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

// hideAll keeps other users from reading the cluster's files, including rotated ones.
func hideAll(dir, cluster string) error {
	files, err := filesOf(linesPath(dir, cluster))
	for _, name := range append(files, openPath(dir, cluster)) {
		info, missing := os.Lstat(name)
		if missing == nil && info.Mode().IsRegular() && info.Mode()&othersRead != 0 {
			err = errors.Join(err, os.Chmod(name, info.Mode().Perm()&^othersRead))
		}
	}
	return err
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
