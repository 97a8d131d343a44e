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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeTime is the longest time that a read waits for the writer of a pipe.
const pipeTime = 5 * time.Second

// Open opens a regular file for reading. With orPipe it also opens a pipe such as a shell's <(…), without
// waiting for the pipe's writer; reads from it fail after five seconds.
func Open(path string, orPipe bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		return f, nil
	case orPipe && info.Mode().Type() == os.ModeNamedPipe:
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
	f, err := Open(path, false)
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

// Replace writes a file of that mode, whole or not at all. The file belongs to the owner of the file with
// that record or, without a record, to the process's user.
func Replace(path string, data []byte, mode os.FileMode, was *syscall.Stat_t) (err error) {
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
	if was != nil {
		err = errors.Join(err, f.Chown(int(was.Uid), int(was.Gid)))
	}
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
