package terminal

import (
	"fmt"
	"os"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
)

// footAfter is how long somebody at a terminal waits without a message.
const footAfter = time.Second

// Progress is stderr: on a terminal its last line says what takes so long. It is a
// zapcore.WriteSyncer, so that log lines come above that line, and a flex.Watcher
// that shows the progress of a pass.
type Progress struct {
	mu    sync.Mutex
	what  string    // that takes so long
	since time.Time // when it began
	shown bool
	due   int // actions of the pass
	over  int // how many of them have finished
}

// Begin shows what is being done until the function that it returns is called.
// Where stderr is no terminal it shows nothing.
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

// draw rewrites the line. A terminal that is gone is no reason to stop. The lock is
// held.
func (f *Progress) draw() {
	if f.shown {
		_, _ = fmt.Fprintf(os.Stderr, "\r%s%s, %s …", clearLine, f.what, time.Since(f.since).Round(time.Second))
	}
}

// clear takes the line away. The lock is held.
func (f *Progress) clear() {
	if f.shown {
		_, _ = fmt.Fprintf(os.Stderr, "\r%s", clearLine)
	}
}

// Write writes whole lines above that line.
func (f *Progress) Write(lines []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear()
	defer f.draw()
	return os.Stderr.Write(lines)
}

// Sync does nothing: stderr is not buffered.
func (f *Progress) Sync() error { return nil }

// Saw shows how much there is to do.
func (f *Progress) Saw(_ *scene.Scene, p plan.Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due, f.over = len(p.Actions), 0
	f.count()
}

// Did shows that an action has finished.
func (f *Progress) Did(plan.Action, time.Time, time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over++
	f.count()
}

// Stood shows nothing: the pass is over.
func (f *Progress) Stood(error) {}

// count shows the progress of the pass. The lock is held.
func (f *Progress) count() {
	f.what = fmt.Sprintf("%d of %d actions done", f.over, f.due)
	f.draw()
}
