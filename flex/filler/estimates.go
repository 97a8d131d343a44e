package filler

import (
	"os"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// How old the waits may be that estimates are from, and that are too few for one. A history that
// takes long is read less often: reading it takes at most one part in readShare of the time.
const (
	bookAge   = 10 * time.Minute
	fewAge    = time.Minute
	readShare = 100
)

// Estimates estimates the waits of a view by the history. Where the history cannot be
// read, or has not been read yet, there are no estimates. It is read beside the passes,
// which no disk that hangs may hold up.
type Estimates struct {
	dir, cluster string

	mu    sync.Mutex
	asked time.Time      // when the history was last asked for; zero: never
	reads bool           // it is being read
	lacks bool           // a row of the last view lacked an estimate
	size  int64          // of the history's file when it was read
	took  time.Duration  // to read it
	book  *estimate.Book // nil: not read yet
	waits map[string]*estimate.Samples
}

// NewEstimates makes a forecaster of a cluster.
func NewEstimates(cfg *config.Config) *Estimates {
	return &Estimates{dir: cfg.Options.StateDir, cluster: cfg.Cluster}
}

// Fill adds estimates to the rows that wait for capacity.
func (f *Estimates) Fill(v *view.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, age, few := v.SeenAt, bookAge, f.lacks
	if few {
		age = min(bookAge, max(fewAge, readShare*f.took))
	}
	f.lacks = false
	for i := range v.Rows {
		row := &v.Rows[i]
		if row.State != view.Queued || row.Lease <= 0 || row.Since.IsZero() {
			continue
		}
		if f.asked.IsZero() || now.Sub(f.asked) > age && !f.reads {
			f.asked, f.reads = now, true
			go f.read(now, few)
		}
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
			Request: estimate.Request{Count: row.Count, Lease: int64(time.Duration(row.Lease).Seconds())},
			Waited:  max(int64(now.Sub(row.Since).Seconds()), 1),
		}, history.At(now))
		if !a.History {
			f.lacks = true
			continue
		}
		row.Estimate = &view.Estimate{Half: estimate.Seconds(a.Half), Ninety: estimate.Seconds(a.Ninety), Requests: a.Samples, Change: (*view.Change)(a.Change)}
	}
}

// read takes over the history as it is. For want of estimates it does so only if the history
// has grown.
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
		book, size = estimate.NewBook(history.At(now), time.Local), -1 // it is tried again
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.book, f.waits, f.reads = book, map[string]*estimate.Samples{}, false
	f.size, f.took = size, time.Since(begun)
}

// isRead reports whether the history was read when its file had that size. Then there is nothing
// to read.
func (f *Estimates) isRead(size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.book == nil || f.size != size {
		return false
	}
	f.reads = false
	return true
}
