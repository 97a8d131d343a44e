package config

import (
	"fmt"
	"os"
	"path/filepath"
)

// The bits of a mode by which others than the owner have access.
const (
	othersWrite = 0o022
	othersAny   = 0o077
)

// CheckSecret returns an error if others than its owner may read or write the
// file of a secret, or exchange it for another one. That it is not there, or not
// for us to see, is for whoever reads it to say.
func CheckSecret(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if mode := info.Mode().Perm(); mode&othersAny != 0 {
		return fmt.Errorf("%s has mode %04o: others could read or change it; chmod 600 %s", path, mode, path)
	}
	return checkWay(path)
}

// checkFile returns an error if others than its owner may write the open file,
// or exchange it for another one.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil // such as a shell's <(…): nobody else can reach it
	}
	if mode := info.Mode().Perm(); mode&othersWrite != 0 {
		return fmt.Errorf("%s has mode %04o: others could change what it says; chmod go-w %s", f.Name(), mode, f.Name())
	}
	return checkWay(f.Name())
}

// checkWay returns an error if others may exchange a file by way of a folder on
// its path, as it is given and as it is behind links. In a sticky folder, such
// as /tmp, only its owner may exchange a file.
func checkWay(path string) error {
	given, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	behind, err := filepath.EvalSymlinks(given)
	if err != nil {
		return err
	}
	for _, way := range []string{given, behind} {
		for dir := filepath.Dir(way); ; dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				return err
			}
			if info.Mode().Perm()&othersWrite != 0 && info.Mode()&os.ModeSticky == 0 {
				return fmt.Errorf("folder %s has mode %04o: others could put another file in place of %s; chmod go-w %s",
					dir, info.Mode().Perm(), path, dir)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return nil
}
