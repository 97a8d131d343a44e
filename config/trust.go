package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// The mode bits that grant access to users other than the owner.
const (
	othersWrite = 0o022
	othersAny   = 0o077
)

// CheckSecret returns an error if users other than its owner can read, write or replace the file of
// a secret. If the file does not exist or is not visible to this process, its reader reports that.
func CheckSecret(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&othersAny != 0 {
		return fmt.Errorf("%s is accessible to other users (mode %04o); run chmod 600 %s", path, mode, path)
	}
	return checkWay(path)
}

// checkFile returns an error if users other than its owner can write or replace the open file.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil // such as a shell's <(…), which other users cannot reach
	}
	return checkOpen(f.Name(), info)
}

// CheckProgram returns an error if other users can replace or write a program that will be run. If
// it does not exist, the caller reports that.
func CheckProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return checkOpen(path, info)
}

// checkOpen does the same as checkFile for the file found at that path.
func checkOpen(path string, info os.FileInfo) error {
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&othersWrite != 0 {
		return fmt.Errorf("%s is writable by other users (mode %04o); run chmod go-w %s", path, mode, path)
	}
	return checkWay(path)
}

// checkOwner returns an error if a file or folder belongs to a user other than root, this process's
// user, and slurm, the usual user of Slurm and slurmflex.
func checkOwner(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	uid := strconv.FormatUint(uint64(stat.Uid), 10)
	if slurm, err := user.Lookup("slurm"); err == nil && slurm.Uid == uid {
		return nil
	}
	return fmt.Errorf("%s is owned by uid %s, who could change it; run chown root %s", path, uid, path)
}

// checkWay returns an error if other users can replace a file through a folder on its path, as
// given and with links resolved. In a sticky folder, such as /tmp, only its owner can replace a
// file.
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
			if err := checkOwner(dir, info); err != nil {
				return fmt.Errorf("folder %w", err)
			}
			if info.Mode().Perm()&othersWrite != 0 && info.Mode()&os.ModeSticky == 0 {
				return fmt.Errorf("folder %s is writable by other users (mode %04o), who could replace %s; run chmod go-w %s",
					dir, info.Mode().Perm(), path, dir)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return nil
}
