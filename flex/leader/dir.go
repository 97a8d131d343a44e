package leader

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CheckDir returns an error unless only this user can access the folder in which the processes of one
// host meet: it has the lock and the daemon's socket. Its files decide who makes
// passes, and which process the daemon accepts as Slurm.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("%w; create folder %s with mode 0700 for the user that runs slurmctld, or set slurmflex.run_dir", err, dir)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it, or set slurmflex.run_dir", dir)
	case int(owner) != os.Geteuid():
		return fmt.Errorf("folder %s belongs to uid %d, and this is uid %d; run as its owner, who must be SlurmUser", dir, owner, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("folder %s has mode %04o, so that others can reach into it; chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}

// Advised adds a remedy to an error about a file or socket of the folder.
func Advised(err error) error {
	switch {
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%w in this process; see ls -l /proc/%d/fd, and LimitNOFILE= of its unit", err, os.Getpid())
	case errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w; see sysctl fs.file-nr and fs.file-max", err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w; free space there", err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, os.ErrPermission), errors.Is(err, unix.EISDIR):
		return fmt.Errorf("%w; remove it if it is not ours", err)
	}
	return err
}
