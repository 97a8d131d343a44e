package estimate

import (
	"slices"
	"sync"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// bookAge is the maximum age of the history that estimates use. A history that takes long to read is
// read less often: reading takes at most one part in readShare of the time.
const (
	bookAge   = time.Minute
	readShare = 100
)

// Shown adds estimates from the history to a view. Without a readable history it adds none. It
// reads the history in the background, so that a hanging disk does not delay passes.
type Shown struct {
	Dir, Cluster string // of the history

	mu    sync.Mutex
	asked time.Time     // when the history was last requested; zero: never
	reads bool          // the history is being read
	took  time.Duration // how long the last read took
	book  *book         // nil before the first read
}

// Keep rereads the history if it is too old and a pass saw a wait for capacity, so that a view has
// estimates when somebody asks for one.
func (f *Shown) Keep(s *scene.Scene, p plan.Plan) {
	if slices.ContainsFunc(p.Waits, func(w demand.Wait) bool { return w.Stage == demand.Queued }) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.refresh(s.Seen.Now)
	}
}

// refresh starts to read the history if it is too old. f.mu must be held.
func (f *Shown) refresh(now time.Time) {
	if now.Sub(f.asked) > max(bookAge, readShare*f.took) && !f.reads {
		f.asked, f.reads = now, true
		go f.read(now)
	}
}

// Fill adds estimates to the rows that wait for capacity.
func (f *Shown) Fill(v *view.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range v.Rows {
		row := &v.Rows[i]
		if row.State != view.Queued {
			continue
		}
		count, seconds := waited(v, *row, v.SeenAt)
		if seconds == 0 {
			continue
		}
		f.refresh(v.SeenAt)
		if f.book == nil {
			return
		}
		row.Estimate = f.book.estimate(row.NodeSet, count, seconds)
	}
}

// read reads the history as it is now. A history that cannot be read has no waits.
func (f *Shown) read(now time.Time) {
	begun, book := time.Now(), newBook(now)
	if _, err := history.Read(f.Dir, f.Cluster, history.Wait, book.take); err != nil {
		book = newBook(now)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.book, f.reads, f.took = book, false, time.Since(begun)
}
