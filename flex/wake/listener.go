package wake

import (
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

	"slurmflex/flex/leader"
)

const (
	readTime = 500 * time.Millisecond // for the daemon to read a wake-up
	// hooksTaken is the number of wake-ups read in parallel. Further hooks wait in the backlog.
	hooksTaken = 64
	sockCheck  = time.Second // between checks that the socket still exists
)

// ear listens for wake-ups on the daemon's socket.
type ear struct {
	path    string
	cluster string
	log     *zap.Logger
	wakeUps chan Call
	slots   chan struct{}

	listener *net.UnixListener
	file     os.FileInfo // the listener's socket
}

// Listen receives the wake-ups of one cluster on a private socket until ctx ends. If the socket is
// removed, Listen creates it again. While a wake-up is waiting to be handled, Listen acknowledges
// and drops further ones, because one pass serves all of them.
func Listen(ctx context.Context, path, cluster string, log *zap.Logger) (chan Call, error) {
	e := &ear{path: path, cluster: cluster, log: log, wakeUps: make(chan Call, 1), slots: make(chan struct{}, hooksTaken)}
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	go e.keep(ctx)
	return e.wakeUps, nil
}

// open creates the socket and serves it.
func (e *ear) open(ctx context.Context) error {
	if err := leader.CheckDir(filepath.Dir(e.path)); err != nil {
		return err
	}
	if err := trustworthy(e.path); err == nil {
		// A killed daemon leaves its socket behind. The socket is stale if connecting to it fails.
		if conn, err := net.Dial("unix", e.path); err == nil {
			conn.Close()
			return fmt.Errorf("another daemon listens on %s; stop it first", e.path)
		}
		if err := os.Remove(e.path); err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	old := unix.Umask(0o177)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: e.path, Net: "unix"})
	unix.Umask(old)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", e.path, err)
	}
	if e.file, err = os.Lstat(e.path); err != nil {
		listener.Close()
		return fmt.Errorf("listen on %s: %w", e.path, err)
	}
	e.listener = listener
	context.AfterFunc(ctx, func() { listener.Close() })
	go e.serve(listener)
	return nil
}

// keep creates the socket again if hooks can no longer find it.
func (e *ear) keep(ctx context.Context) {
	again := time.NewTicker(sockCheck)
	defer again.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if now, err := os.Lstat(e.path); err == nil && os.SameFile(now, e.file) || ctx.Err() != nil {
			continue
		}
		e.listener.SetUnlinkOnClose(false) // the path now belongs to something else
		e.listener.Close()
		switch err := e.open(ctx); {
		case err == nil:
			e.log.Warn("socket was removed; listening on a new one; find what cleans slurmflex.run_dir", zap.String("socket", e.path))
			trouble = ""
		case err.Error() != trouble:
			e.log.Error("socket was removed, and hooks cannot reach the daemon; find what cleans slurmflex.run_dir", zap.Error(err))
			trouble = err.Error()
		}
	}
}

// serve accepts wake-ups until the listener is closed.
func (e *ear) serve(listener net.Listener) {
	trouble := ""
	for {
		e.slots <- struct{}{}
		conn, err := listener.Accept()
		if err == nil {
			trouble = ""
			go func() {
				e.receive(conn)
				<-e.slots
			}()
			continue
		}
		<-e.slots
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err.Error() != trouble {
			e.log.Error("hooks cannot reach the daemon", zap.Error(leader.Advised(err)))
			trouble = err.Error()
		}
		time.Sleep(readTime)
	}
}

// receive reads a hook's wake-up and acknowledges it.
func (e *ear) receive(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(readTime))
	if err := knownPeer(conn); err != nil {
		e.log.Warn("wake-up refused", zap.Error(err))
		return
	}
	var h Call
	switch err := json.NewDecoder(io.LimitReader(conn, wakeUpSize)).Decode(&h); {
	case errors.Is(err, io.EOF): // another daemon has checked for a running daemon
		return
	case err != nil:
		e.log.Warn("wake-up refused: not readable; if the hook has another version, restart the daemon", zap.Error(err))
		return
	case h.Cluster != "" && h.Cluster != e.cluster:
		e.log.Warn("wake-up refused: it is for another cluster; give each cluster a slurmflex.run_dir of its own", zap.String("cluster", h.Cluster))
		_, _ = fmt.Fprintf(conn, "cluster %s; give each cluster a slurmflex.run_dir of its own\n", e.cluster)
		return
	}
	select {
	case e.wakeUps <- h:
	default:
	}
	_, _ = io.WriteString(conn, "ok\n")
}

// knownPeer checks that the caller runs as this process's user or root.
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
