package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex"
)

// These constants add up to the longest time that a healthy daemon needs from one pass to the next.
// It first waits for the interval, or up to longestWait while Slurm cannot be read. It may then
// wait for another process's pass, which abandons its actions after six minutes. Its own pass
// abandons each Slurm command after 30 s, and each call to Compute after a few tries of 30 s.
const (
	longestWait = 5 * time.Minute
	longestWork = 20 * time.Minute
)

// notifyLimit bounds the time to send a message to systemd, because systemd's queue may be full.
const notifyLimit = time.Second

// supervisor notifies systemd when the daemon is ready, how its passes end, and when it stops. The
// passes themselves feed the watchdog, so that systemd restarts a daemon with a hanging pass.
// Source: sd_notify(3).
type supervisor struct {
	socket string // NOTIFY_SOCKET; a leading @ means an abstract socket
	log    *zap.Logger

	interval func() time.Duration // between passes
	watched  time.Duration        // interval at the last watchdog request; only passes use it

	mu   sync.Mutex
	deaf bool // a missing answer from systemd was already logged
}

// supervise notifies systemd until ctx ends, if systemd started the daemon and expects messages.
// The returned function waits until the last message is sent.
func supervise(ctx context.Context, r *flex.Reconciler) (wait func()) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return func() {}
	}
	s := &supervisor{socket: socket, log: r.Log, interval: func() time.Duration { return r.Config.Options.Interval }}
	r.Watch = append(r.Watch, flex.Watcher{Stood: s.stood})
	s.tell(s.suitWatchdog("READY=1", "STATUS=ready; first pass running")...)
	stopping := sync.OnceFunc(func() { s.tell("STOPPING=1", "STATUS=stopping") })
	context.AfterFunc(ctx, stopping)
	return stopping
}

// suitWatchdog appends a new watchdog time if the interval has changed.
func (s *supervisor) suitWatchdog(state ...string) []string {
	if s.interval() == s.watched {
		return state
	}
	s.watched = s.interval()
	if watchdog := watchdogFor(os.Getenv("WATCHDOG_USEC"), s.watched); watchdog > 0 {
		state = append(state, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds()))
	}
	return state
}

// watchdogFor returns the watchdog time in µs to request instead of the given time, if the given
// time could kill a healthy daemon; otherwise 0. If given is not a number, the watchdog is off.
func watchdogFor(given string, interval time.Duration) time.Duration {
	usec, err := strconv.ParseInt(given, 10, 64)
	need := max(interval, longestWait) + longestWork
	if err != nil || usec >= need.Microseconds() {
		return 0
	}
	return need
}

// stood reports how the last pass ended, and feeds the watchdog.
func (s *supervisor) stood(err error) {
	status := "ok: last pass " + time.Now().UTC().Format(time.RFC3339)
	switch {
	case flex.IsStandby(err):
		status = "standby: " + err.Error()
	case err != nil:
		status = "cannot reconcile: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	s.tell(s.suitWatchdog("WATCHDOG=1", "STATUS="+status)...)
}

// tell sends assignments. A failure is logged once.
func (s *supervisor) tell(state ...string) {
	err := send(s.socket, strings.Join(state, "\n"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.deaf {
		s.log.Warn("cannot notify systemd", zap.String("socket", s.socket), zap.Error(err))
	}
	s.deaf = err != nil
}

func send(socket, text string) error {
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyLimit)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(text))
	return err
}
