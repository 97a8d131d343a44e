package hook

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// UnblockSignals executes the program again without blocked signals if it was started with blocked
// signals. Slurm 22.05 starts its programs with TERM, PIPE, USR1 and others blocked. Go unblocks
// signals that end a program, such as TERM, but every child inherits the remaining mask.
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
	// The new program inherits the mask of the thread that calls exec.
	return fmt.Errorf("unblock signals: %w", unix.Exec(exe, os.Args, os.Environ()))
}
