package flex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Hint tells the daemon that Slurm has called one of our programs. It makes the
// next round come at once, and decides nothing: who wants a node is what Slurm
// says when the round looks.
type Hint struct {
	Verb  string   `json:"verb"`           // resume, suspend or resume-fail
	Nodes string   `json:"nodes"`          // the hostlist of the call
	Jobs  []uint32 `json:"jobs,omitempty"` // the jobs that SLURM_RESUME_FILE spoke of
}

const (
	hintSize = 8 << 20                // bytes; a hint of 5,000 nodes and 1,000 jobs is far below 1 MiB
	hintTime = 60 * time.Millisecond  // a hook must not keep slurmctld waiting
	readTime = 500 * time.Millisecond // for the daemon, to read a hint
)

// SocketPath is where the daemon listens.
func SocketPath(dir string) string { return filepath.Join(dir, "slurmflex.sock") }

// UnreceiptedError is that a hint went to the daemon, who may have taken it, but
// that no receipt came back. Whoever gets it need not send the hint again.
type UnreceiptedError struct{ error }

func (e UnreceiptedError) Unwrap() error { return e.error }

// Send hands a hint over to the daemon and waits for its receipt. It fails if
// no daemon answers within 60 ms, or if the socket is not to be trusted. From the
// moment that it is connected, its errors are UnreceiptedErrors.
func Send(ctx context.Context, path string, h Hint) error {
	if err := trustworthy(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hintTime)
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

// exchange sends a hint and reads its receipt.
func exchange(conn net.Conn, path string, h Hint) error {
	if err := json.NewEncoder(conn).Encode(h); err != nil {
		return fmt.Errorf("send hint to %s: %w", path, err)
	}
	receipt, err := bufio.NewReader(io.LimitReader(conn, 1024)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no receipt from the daemon at %s: %w", path, err)
	}
	if receipt != "ok\n" {
		return fmt.Errorf("the daemon at %s refused the hint: %q", path, receipt)
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

// Listen takes hints on a private socket until ctx ends. A hint that comes
// while another waits to be seen is acknowledged and dropped: one round serves
// both.
func Listen(ctx context.Context, path string, log *zap.Logger) (<-chan Hint, error) {
	if err := private(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := trustworthy(path); err == nil {
		// A socket of our own is left from a daemon that was killed, unless
		// somebody answers on it.
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return nil, fmt.Errorf("another daemon listens on %s; stop it first", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := unix.Umask(0o177)
	listener, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	hints := make(chan Hint, 1)
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				log.Warn("accept hint", zap.Error(err))
				time.Sleep(readTime)
				continue
			}
			go receive(conn, hints, log)
		}
	}()
	return hints, nil
}

func receive(conn net.Conn, hints chan<- Hint, log *zap.Logger) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(readTime))
	if err := knownPeer(conn); err != nil {
		log.Warn("hint refused", zap.Error(err))
		return
	}
	var h Hint
	switch err := json.NewDecoder(io.LimitReader(conn, hintSize)).Decode(&h); {
	case errors.Is(err, io.EOF): // another daemon has looked whether there is one
		return
	case err != nil:
		log.Warn("hint refused: not readable", zap.Error(err))
		return
	}
	select {
	case hints <- h:
	default:
	}
	_, _ = io.WriteString(conn, "ok\n")
}

// knownPeer checks that the caller is our own user or root.
func knownPeer(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return credErr
	}
	if cred.Uid != 0 && int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("caller has uid %d, not %d or 0", cred.Uid, os.Geteuid())
	}
	return nil
}
