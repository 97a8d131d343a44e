package flex

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// private checks that only this user can access a folder. Its files decide who makes passes, and
// which process the daemon accepts as Slurm.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("%w; create folder %s with mode 0700 for the user that runs slurmctld, or set slurmflex.run_dir", err, dir)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("stat %s: %w", dir, err)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; remove it, or set slurmflex.run_dir", dir)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("folder %s belongs to uid %d, and this is uid %d; run as its owner, who must be SlurmUser", dir, st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("folder %s has mode %04o, so that others can reach into it; chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}
