package terminal

import (
	"fmt"
	"os"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

// footAfter is the time without a message after which Progress shows its line.
const footAfter = time.Second

// Progress wraps stderr. On a terminal, the last line names the operation that is taking long.
// Progress is a zapcore.WriteSyncer, so that log lines appear above that line, and a flex.Watcher,
// so that the line shows the progress of a pass.
type Progress struct {
	mu    sync.Mutex
	what  string    // operation shown in the last line
	since time.Time // start of the operation
	shown bool
	due   int // actions of the pass
	over  int // actions that have finished
}

// Begin shows the named operation until the returned function is called. If stderr is not a
// terminal, it shows nothing.
func (f *Progress) Begin(what string) (end func()) {
	if !Is(os.Stderr) {
		return func() {}
	}
	f.mu.Lock()
	f.what, f.since = what, time.Now()
	f.mu.Unlock()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for wait := footAfter; ; wait = time.Second {
			select {
			case <-stop:
				f.mu.Lock()
				defer f.mu.Unlock()
				f.clear()
				f.shown = false
				return
			case <-time.After(wait):
				f.mu.Lock()
				f.shown = true
				f.draw()
				f.mu.Unlock()
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

// draw rewrites the line. It ignores write errors, because a closed terminal must not stop the
// command. The caller holds the lock.
func (f *Progress) draw() {
	if f.shown {
		_, _ = fmt.Fprintf(os.Stderr, "\r%s%s, %s …", clearLine, f.what, time.Since(f.since).Round(time.Second))
	}
}

// clear erases the line. The caller holds the lock.
func (f *Progress) clear() {
	if f.shown {
		_, _ = fmt.Fprintf(os.Stderr, "\r%s", clearLine)
	}
}

// Write writes whole lines above the progress line.
func (f *Progress) Write(lines []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear()
	defer f.draw()
	return os.Stderr.Write(lines)
}

// Sync does nothing: stderr is not buffered.
func (f *Progress) Sync() error { return nil }

// Saw counts the actions that the pass has planned.
func (f *Progress) Saw(_ *scene.Scene, p plan.Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due, f.over = len(p.Actions), 0
	f.count()
}

// Did counts an action that has finished.
func (f *Progress) Did(action.Action, time.Time, time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over++
	f.count()
}

// Stood does nothing, because the pass is over.
func (f *Progress) Stood(error) {}

// count shows the progress of the pass. The caller holds the lock.
func (f *Progress) count() {
	f.what = fmt.Sprintf("%d of %d actions done", f.over, f.due)
	f.draw()
}
