package flex

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// WakeUp notifies the daemon that Slurm has called one of our programs. It makes the
// next pass come at once, and decides nothing: who wants a node is what Slurm
// says when the pass looks.
type WakeUp struct {
	Cluster string   `json:"cluster,omitempty"` // whose slurmctld has called; empty if that cannot be known
	Verb    string   `json:"verb"`              // resume, suspend or resume-fail
	Nodes   string   `json:"nodes"`             // the hostlist of the call
	Jobs    []uint32 `json:"jobs,omitempty"`    // the jobs that SLURM_RESUME_FILE spoke of
}

const (
	wakeUpSize = 8 << 20               // bytes; a wake-up of 5,000 nodes and 1,000 jobs is far below 1 MiB
	wakeUpTime = 60 * time.Millisecond // a hook must not keep slurmctld waiting
)

// SocketPath is where the daemon listens.
func SocketPath(dir string) string { return filepath.Join(dir, "slurmflex.sock") }

// UnreceiptedError is that a wake-up went to the daemon, who may have taken it, but
// that no receipt came back. The caller that gets it need not send the wake-up again.
type UnreceiptedError struct{ error }

func (e UnreceiptedError) Unwrap() error { return e.error }

// Send hands a wake-up over to the daemon and waits for its receipt. It fails if
// no daemon answers within 60 ms, or if the socket is not to be trusted. From the
// moment that it is connected, its errors are UnreceiptedErrors.
func Send(ctx context.Context, path string, h WakeUp) error {
	if err := trustworthy(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wakeUpTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if err := exchange(conn, path, h); err != nil {
		return UnreceiptedError{err}
	}
	return nil
}

// exchange sends a wake-up and reads its receipt.
func exchange(conn net.Conn, path string, h WakeUp) error {
	if err := json.NewEncoder(conn).Encode(h); err != nil {
		return fmt.Errorf("send wake-up to %s: %w", path, err)
	}
	receipt, err := bufio.NewReader(io.LimitReader(conn, 1024)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no receipt from the daemon at %s: %w", path, err)
	}
	if receipt != "ok\n" {
		return fmt.Errorf("the daemon at %s refused the wake-up: %q", path, receipt)
	}
	return nil
}

// trustworthy checks that only we, or root, can stand behind the socket.
func trustworthy(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	switch {
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s is not a socket; remove it and restart the daemon", path)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d, not to uid %d or root; run the daemon as SlurmUser",
			path, st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o; others must have no access (0600)", path, info.Mode().Perm())
	}
	return nil
}
