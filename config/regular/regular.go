// Package regular reads files whose path or content another user may have chosen. Such a path may
// name a device, which never ends, or a pipe that is never written to. It replaces files whole or not
// at all.
package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pipeTime is the longest time that a read waits for the writer of a pipe.
const pipeTime = 5 * time.Second

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) { return open(path, 0) }

// OpenPipe opens a regular file, or a pipe such as a shell's <(…). Reads fail after five seconds.
func OpenPipe(path string) (*os.File, error) { return open(path, os.ModeNamedPipe) }

// open opens a regular file or one of the type also, without waiting for a pipe's writer.
func open(path string, also os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		return f, nil
	case also != 0 && info.Mode().Type() == also:
		if err = f.SetReadDeadline(time.Now().Add(pipeTime)); err == nil {
			return f, nil
		}
	case info.IsDir():
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("is a directory; use a file")}
	default:
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("is not a regular file; use a regular file")}
	}
	f.Close()
	return nil, err
}

// Read reads a regular file of at most that many bytes, which must be a whole number of MiB.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: larger than %d MiB", path, most>>20)
	}
	return data, nil
}

// Owner is the user and the group that own a file.
type Owner struct{ User, Group int }

// Replace writes a file of that mode and owner, whole or not at all. Without an owner, the file
// belongs to the process's user.
func Replace(path string, data []byte, mode os.FileMode, owner *Owner) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if owner != nil {
		err = errors.Join(err, f.Chown(owner.User, owner.Group))
	}
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
