// Package systemd notifies systemd that the daemon is ready, how its passes go, and that it stops.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
)

// The longest that a healthy daemon takes from one pass to the next: its wait,
// which is the interval, or up to longestWait while Slurm cannot be read, and then
// the work: another process' pass, which gives up its actions after six minutes,
// and its own, in which each of Slurm's commands is given up after 30 s and each
// call to Compute after a few tries of 30 s.
const (
	longestWait = 5 * time.Minute
	longestWork = 20 * time.Minute
)

// notifyLimit bounds a message to systemd, whose queue may be full.
const notifyLimit = time.Second

// supervisor notifies systemd that the daemon is ready, how its passes go, and that
// it stops. The passes themselves feed the watchdog, so that a daemon whose passes
// hang is restarted. Source: sd_notify(3).
type supervisor struct {
	socket string // NOTIFY_SOCKET; one that begins with @ is abstract
	log    *zap.Logger

	interval func() time.Duration // of passes
	watched  time.Duration        // the interval that the watchdog was asked to suit; only passes use it

	mu   sync.Mutex
	seen string // what the running pass saw
	deaf bool   // it was logged that systemd does not answer
}

// Supervise notifies systemd until ctx ends, if it started us and wants
// that. What it returns waits for the last message.
func Supervise(ctx context.Context, r *flex.Reconciler) (wait func()) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return func() {}
	}
	s := &supervisor{socket: socket, log: r.Log, interval: func() time.Duration { return r.Config.Options.Interval }}
	r.Watch = flex.Watchers{r.Watch, s}
	s.tell(s.suitWatchdog("READY=1", "STATUS=ready; first pass running")...)
	stopping := sync.OnceFunc(func() { s.tell("STOPPING=1", "STATUS=stopping") })
	context.AfterFunc(ctx, stopping)
	return stopping
}

// suitWatchdog adds what to ask of the watchdog, if the interval has changed.
func (s *supervisor) suitWatchdog(state ...string) []string {
	if s.interval() == s.watched {
		return state
	}
	s.watched = s.interval()
	if watchdog := WatchdogFor(os.Getenv("WATCHDOG_USEC"), s.watched); watchdog > 0 {
		state = append(state, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds()))
	}
	return state
}

// WatchdogFor is the time to ask of the watchdog in place of the given one, in
// µs, if that might end a healthy daemon; otherwise 0. No number is no watchdog.
func WatchdogFor(given string, interval time.Duration) time.Duration {
	usec, err := strconv.ParseInt(given, 10, 64)
	need := max(interval, longestWait) + longestWork
	if err != nil || usec >= need.Microseconds() {
		return 0
	}
	return need
}

// Saw notes what there is.
func (s *supervisor) Saw(seen *scene.Scene, _ plan.Plan) {
	waiting := 0
	for _, g := range seen.Seen.Groups {
		for _, request := range g.Requests {
			if request.State == mig.Creating || request.State == mig.Accepted {
				waiting++
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = fmt.Sprintf("ok: %s, %s waiting; last pass %s",
		view.Count(len(seen.Seen.Instances), "machine"), view.Count(waiting, "request"), seen.Seen.Now.UTC().Format(time.RFC3339))
}

// Did does nothing: a pass says what it saw.
func (s *supervisor) Did(plan.Action, time.Time, time.Duration, error) {}

// Stood reports how the last pass went, and feeds the watchdog.
func (s *supervisor) Stood(err error) {
	s.mu.Lock()
	status := s.seen
	s.mu.Unlock()
	switch {
	case errors.Is(err, flex.ErrStandby):
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
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
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
