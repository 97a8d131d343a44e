package hook

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// roleKey is the environment variable that makes this program act as another process instead of
// running tests.
const roleKey = "HOOK_TEST_ROLE"

const (
	roleBlocker   = "becomes an unblocker, started as Slurm starts programs"
	roleUnblocker = "says its signal mask, unblocks signals, says that it has"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleKey) {
	case "":
		os.Exit(m.Run())
	case roleBlocker:
		must(becomeUnblocker())
	case roleUnblocker:
		fmt.Println(blockedSignals())
		must(UnblockSignals())
		fmt.Println("unblocked")
	}
}

// as returns a command that runs this program in a role. The caller starts the command.
func as(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), roleKey+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

// must exits with the error if there is one.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// slurmMask is the signal mask with which Slurm 22.05 starts a ResumeProgram. Go's runtime unblocks
// those of its signals that end a program, such as TERM, but no others.
const slurmMask = 0x887a27

func TestProcessWithBlockedSignalsRestartsWithoutThem(t *testing.T) {
	out, err := as(t, roleBlocker).Output()
	require.NoError(t, err)
	said := strings.Fields(string(out))
	require.Len(t, said, 3)
	assert.NotEqual(t, noSignal, said[0])
	assert.Equal(t, []string{noSignal, "unblocked"}, said[1:])
}

const noSignal = "0000000000000000"

// becomeUnblocker blocks signals as Slurm does and executes this program again. It returns only if
// that fails.
func becomeUnblocker() error {
	runtime.LockOSThread() // exec passes on the mask of the calling thread
	blocked := unix.Sigset_t{Val: [16]uint64{slurmMask}}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &blocked, nil); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(roleKey, roleUnblocker); err != nil {
		return err
	}
	return unix.Exec(exe, os.Args, os.Environ())
}

// blockedSignals returns the process's mask as the kernel shows it, in hexadecimal.
func blockedSignals() string {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	_, rest, _ := strings.Cut(string(status), "SigBlk:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	return mask
}
