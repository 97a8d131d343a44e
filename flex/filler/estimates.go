package filler

import (
	"slices"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/estimate"
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

// Estimates adds estimates from the history to a view. Without a readable history it adds none. It
// reads the history in the background, so that a hanging disk does not delay passes.
type Estimates struct {
	dir, cluster string

	mu    sync.Mutex
	asked time.Time      // when the history was last requested; zero: never
	reads bool           // the history is being read
	took  time.Duration  // how long the last read took
	book  *estimate.Book // nil before the first read
}

// NewEstimates returns an Estimates for a cluster.
func NewEstimates(cfg *config.Config) *Estimates {
	return &Estimates{dir: cfg.Options.StateDir, cluster: cfg.Cluster}
}

// Keep rereads the history if it is too old and a pass saw a wait for capacity, so that a view has
// estimates when somebody asks for one.
func (f *Estimates) Keep(s *scene.Scene, p plan.Plan) {
	if slices.ContainsFunc(p.Waits, func(w demand.Wait) bool { return w.Stage == demand.Queued }) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.refresh(s.Seen.Now)
	}
}

// refresh starts to read the history if it is too old. f.mu must be held.
func (f *Estimates) refresh(now time.Time) {
	if f.asked.IsZero() || now.Sub(f.asked) > max(bookAge, readShare*f.took) && !f.reads {
		f.asked, f.reads = now, true
		go f.read(now)
	}
}

// Fill adds estimates to the rows that wait for capacity.
func (f *Estimates) Fill(v *view.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range v.Rows {
		row := &v.Rows[i]
		if row.State != view.Queued {
			continue
		}
		count, waited := estimate.Waited(v, *row, v.SeenAt)
		if waited == 0 {
			continue
		}
		f.refresh(v.SeenAt)
		if f.book == nil {
			return
		}
		row.Estimate = f.book.Estimate(row.NodeSet, count, waited)
	}
}

// read reads the history as it is now. A history that cannot be read has no waits.
func (f *Estimates) read(now time.Time) {
	begun, book := time.Now(), estimate.NewBook(now)
	if _, err := history.Read(f.dir, f.cluster, history.Wait, book.Take); err != nil {
		book = estimate.NewBook(now)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.book, f.reads, f.took = book, false, time.Since(begun)
}
