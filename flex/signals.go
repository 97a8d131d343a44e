package flex

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// UnblockSignals begins the program again with no signal blocked if it was
// started with some. Slurm 22.05 starts its programs with TERM, PIPE, USR1 and
// others blocked. Go takes back those that end a program, such as TERM, but
// hands the rest on to every child.
func UnblockSignals() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none, was unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &was); err != nil {
		return fmt.Errorf("unblock signals: %w", err)
	}
	if was == none {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("unblock signals: %w", err)
	}
	// The mask of the thread that calls exec is the new program's mask.
	return fmt.Errorf("unblock signals: %w", unix.Exec(exe, os.Args, os.Environ()))
}
