package flex

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// roleKey is the environment variable that has this program play another
// process instead of running tests.
const roleKey = "FLEX_TEST_ROLE"

const (
	roleHolder    = "takes the lock of its folder and holds it until its input ends"
	roleBlocker   = "becomes an unblocker, started as Slurm starts programs"
	roleUnblocker = "says its signal mask, unblocks signals, says that it has"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleKey) {
	case "":
		os.Exit(m.Run())
	case roleHolder:
		_, err := Lock{Dir: "."}.Take(context.Background())
		must(err)
		fmt.Println("held")
		_, err = io.Copy(io.Discard, os.Stdin)
		must(err)
	case roleBlocker:
		must(becomeUnblocker())
	case roleUnblocker:
		fmt.Println(blockedSignals())
		must(UnblockSignals())
		fmt.Println("unblocked")
	}
}

// as is this program in another role, not started yet.
func as(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), roleKey+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

// must ends a process that cannot play its role.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
