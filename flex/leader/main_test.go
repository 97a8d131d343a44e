package leader

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// holdsKey is the environment variable that makes this program take the lock of its folder, and
// hold the lock until the input ends, instead of running tests.
const holdsKey = "LEADER_TEST_HOLDS"

func TestMain(m *testing.M) {
	if os.Getenv(holdsKey) == "" {
		os.Exit(m.Run())
	}
	_, err := Lock{Dir: "."}.Take(context.Background())
	must(err)
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	must(err)
}

// holder returns a command that runs this program as a holder of the lock. The caller starts it.
func holder(t *testing.T) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), holdsKey+"=1")
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
