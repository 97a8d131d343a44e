// Package leader decides which process makes a pass: one per host, by a lock, and only on one host
// of a cluster with several controllers.
package leader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Lock lets one process on this host reconcile at a time: the daemon, passes that hooks start, or
// cron. It consists of three files in a private folder. The kernel releases them when their holder
// dies. Between hosts, the Permission decides before each pass.
type Lock struct {
	Dir        string      // must exist with mode 0700 and belong to the user that makes the passes
	Permission *Permission // nil: any process that holds the files may reconcile
	Log        *zap.Logger // logs a long wait; may be nil
}

// longWait is longer than most passes take.
const longWait = 10 * time.Second

// The files.
const (
	running  = "round.lock"
	nextFull = "next.lock" // of the process that waits to start a full pass
	nextPart = "part.lock" // of the process that waits to start a pass that does only some of the work
)

// ErrQueued is the error if another process is already waiting to start a pass. One more pass would
// see nothing new.
var ErrQueued = errors.New("another pass is about to start")

// Take waits until no other pass is running. It returns ErrQueued immediately if another process is
// already waiting, because that process's pass has not started to look. Passes that do only some of the
// work (partial) have a queue of their own, because no full pass may be left to them.
func (l Lock) Take(ctx context.Context, partial bool) (release func(), err error) {
	queue := nextFull
	if partial {
		queue = nextPart
	}
	next, err := l.open(queue)
	if err != nil {
		return nil, err
	}
	defer next.Close()
	if err := unix.Flock(int(next.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrQueued
		}
		return nil, fmt.Errorf("lock %s: %w", next.Name(), err)
	}
	pass, err := l.open(running)
	if err != nil {
		return nil, err
	}
	if err := l.waitFor(ctx, pass); err != nil {
		pass.Close()
		return nil, fmt.Errorf("lock %s: %w", pass.Name(), err)
	}
	return func() { pass.Close() }, nil
}

// Awaited reports whether another process waits for the lock. Only the process that holds the lock
// may ask, right before it looks: a process that arrives during the question gets ErrQueued.
func (l Lock) Awaited() bool { return l.isTaken(nextFull) || l.isTaken(nextPart) }

func (l Lock) isTaken(queue string) bool {
	next, err := l.open(queue)
	if err != nil {
		return false
	}
	defer next.Close()
	return errors.Is(unix.Flock(int(next.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Sign replaces the mark in the lock by a new one, and returns both. A process that does not find the
// mark that it left knows that another process has acted since. Only the process that holds the
// lock may sign. A mark that cannot be read or written is empty.
func (l Lock) Sign() (found, left string) {
	path := filepath.Join(l.Dir, running)
	was, _ := os.ReadFile(path)
	left = rand.Text()
	if os.WriteFile(path, []byte(left), 0o600) != nil {
		left = ""
	}
	return string(was), left
}

// Usable returns why the lock cannot be taken, regardless of its current holder.
func (l Lock) Usable() error {
	f, err := l.open(nextFull)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l Lock) open(name string) (*os.File, error) {
	if err := CheckDir(l.Dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(l.Dir, name), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", Advised(err))
	}
	return f, nil
}

// waitFor takes the lock of f, polling until ctx ends, because a blocking flock cannot be
// interrupted.
func (l Lock) waitFor(ctx context.Context, f *os.File) error {
	ask, late := time.NewTicker(50*time.Millisecond), time.NewTimer(longWait)
	defer ask.Stop()
	defer late.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ask.C:
		case <-late.C:
			if l.Log != nil {
				l.Log.Info("still waiting for the pass of another slurmflex process, which lslocks names", zap.String("file", f.Name()))
			}
		}
	}
}
