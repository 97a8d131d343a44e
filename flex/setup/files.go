package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"slurmflex/config"
	"slurmflex/config/regular"
)

// file is a file to be created.
type file struct{ Path, Text string }

// create writes new files that any user may read, all or none of them. It replaces no file.
func create(files ...file) (err error) {
	var made []string
	defer func() {
		if err != nil {
			for _, path := range made {
				_ = os.Remove(path)
			}
		}
	}()
	for _, file := range files {
		f, err := os.OpenFile(file.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, file.Path)
		_, err = f.WriteString(file.Text)
		if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil { // SlurmUser reads both, whatever the umask
			return err
		}
	}
	return nil
}

// checkNew returns an error unless there are no such files, and folders for them.
func checkNew(paths ...string) error {
	for _, path := range paths {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return fmt.Errorf("%s exists already, and init replaces no file; name others with --config and --flex-conf", path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("folder %s does not exist; create it, or name another file with --config or --flex-conf", filepath.Dir(path))
		}
	}
	return nil
}

// checkOutput returns an error if replace cannot write a file of that name.
func checkOutput(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("--output %s is a folder; name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("--output %s is not a regular file; leave --output out to print to stdout", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--output %s: folder %s does not exist; create it first", path, filepath.Dir(path))
	}
	return nil
}

// replace writes a file, whole or not at all. An existing file keeps its mode and its owner. If the
// path is a link, replace replaces the link's target. Any user may read a new file.
func replace(path, text string) error {
	mode, record := os.FileMode(0o644), (*syscall.Stat_t)(nil)
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if was, err := os.Stat(path); err == nil {
		mode = was.Mode().Perm()
		record, _ = was.Sys().(*syscall.Stat_t)
	}
	return regular.Replace(path, []byte(text), mode, record)
}

// Output writes a text to a command's --output file, or to stdout without one. It checks the file
// before it makes the text, and replaces the file only once the text is complete.
func Output(stdout io.Writer, file string, text func() (string, error)) error {
	if file != "" {
		if err := checkOutput(file); err != nil {
			return config.Misuse(err)
		}
	}
	written, err := text()
	switch {
	case err != nil:
		return err
	case file != "":
		return replace(file, written)
	}
	_, err = io.WriteString(stdout, written)
	return err
}
