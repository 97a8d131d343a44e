package filler

import (
	"os"
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

// bookAge is the maximum age of the history that estimates use. fewAge is its maximum age if it has
// too few waits for an estimate. A history that takes long to read is read less often: reading takes
// at most one part in readShare of the time.
const (
	bookAge   = 10 * time.Minute
	fewAge    = time.Minute
	readShare = 100
)

// Estimates adds estimates from the history to a view. Without a readable history it adds none. It
// reads the history in the background, so that a hanging disk does not delay passes.
type Estimates struct {
	dir, cluster string

	mu    sync.Mutex
	asked time.Time      // when the history was last requested; zero: never
	reads bool           // the history is being read
	lacks bool           // a row of the last view lacked an estimate
	size  int64          // size of the history file when it was read
	took  time.Duration  // how long the read took
	book  *estimate.Book // nil before the first read
	waits map[string]*estimate.Samples
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
	age := bookAge
	if f.lacks {
		age = min(bookAge, max(fewAge, readShare*f.took))
	}
	if f.asked.IsZero() || now.Sub(f.asked) > age && !f.reads {
		f.asked, f.reads = now, true
		go f.read(now, f.lacks)
	}
}

// Fill adds estimates to the rows that wait for capacity.
func (f *Estimates) Fill(v *view.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, lacks := v.SeenAt, false
	for i := range v.Rows {
		row := &v.Rows[i]
		if row.State != view.Queued || row.Lease <= 0 {
			continue
		}
		count, waited := estimate.Waited(v, *row, now)
		if waited == 0 {
			continue
		}
		f.refresh(now)
		if f.book == nil {
			return
		}
		samples := f.waits[row.NodeSet]
		if samples == nil {
			set, _ := v.NodeSet(row.NodeSet)
			samples = f.book.Of(row.NodeSet, set.Machine)
			f.waits[row.NodeSet] = samples
		}
		a := samples.Answer(estimate.Question{
			Request: estimate.Request{Count: count, Lease: int64(time.Duration(row.Lease).Seconds())},
			Waited:  waited,
		}, history.At(now))
		if !a.History {
			lacks = true
			continue
		}
		row.Estimate = &view.Estimate{Half: estimate.Seconds(a.Half), Ninety: estimate.Seconds(a.Ninety), Requests: a.Samples, Change: (*view.Change)(a.Change)}
	}
	f.lacks = lacks
}

// read reads the history as it is now. If few is true, it does so only if the history has grown.
func (f *Estimates) read(now time.Time, few bool) {
	begun, size := time.Now(), int64(0)
	if file, err := os.Stat(history.Path(f.dir, f.cluster)); err == nil {
		size = file.Size()
	}
	if few && f.isRead(size) {
		return
	}
	book := estimate.NewBook(history.At(now), time.Local)
	if _, err := history.Read(f.dir, f.cluster, history.Wait, book.Take); err != nil {
		book, size = estimate.NewBook(history.At(now), time.Local), -1 // retried later
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.book, f.waits, f.reads = book, map[string]*estimate.Samples{}, false
	f.size, f.took = size, time.Since(begun)
}

// isRead reports whether the history was read when its file had that size. A new read would find
// nothing new.
func (f *Estimates) isRead(size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.book == nil || f.size != size {
		return false
	}
	f.reads = false
	return true
}
