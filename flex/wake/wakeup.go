// Package wake hands the hook calls of Slurm to the daemon, over the daemon's socket.
package wake

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Call is a wake-up: it notifies the daemon that Slurm has called a hook, or that an admin has blocked a
// nodeset. It starts the next pass immediately and decides nothing: when the pass looks, Slurm's state shows which jobs need nodes.
type Call struct {
	Cluster string   `json:"cluster,omitempty"` // the calling slurmctld's cluster; empty if unknown
	Verb    string   `json:"verb"`              // resume, suspend, resume-fail, block or unblock
	Nodes   string   `json:"nodes"`             // hostlist of the call
	Jobs    []uint32 `json:"jobs,omitempty"`    // jobs in SLURM_RESUME_FILE
}

const (
	// wakeUpSize is in bytes. A wake-up for 5,000 nodes and 1,000 jobs is far below 1 MiB.
	wakeUpSize = 8 << 20
	wakeUpTime = 60 * time.Millisecond // a hook must not delay slurmctld
)

// SocketPath returns the path of the daemon's socket.
func SocketPath(dir string) string { return filepath.Join(dir, "slurmflex.sock") }

// UnreceiptedError is the error for a wake-up without a receipt. The daemon may have received the
// wake-up, so the caller need not send it again.
type UnreceiptedError struct{ error }

func (e UnreceiptedError) Unwrap() error { return e.error }

// Send sends a wake-up to the daemon and waits for the receipt. It fails if the daemon does not
// answer within 60 ms, or if the socket is not trustworthy. After the connection is made, its
// errors are UnreceiptedErrors.
func Send(ctx context.Context, path string, h Call) error {
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
func exchange(conn net.Conn, path string, h Call) error {
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

// trustworthy checks that only this user or root can listen on the socket.
func trustworthy(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s is not a socket; remove it and restart the daemon", path)
	case owner != 0 && int(owner) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d, not to uid %d or root; run the daemon as SlurmUser",
			path, owner, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o; others must have no access (0600)", path, info.Mode().Perm())
	}
	return nil
}
