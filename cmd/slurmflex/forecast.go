package main

import (
	"context"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// filler adds to views what passes do not see: estimates, prices and quotas.
func (a *app) filler(ctx context.Context, cfg *config.Config, log *zap.Logger) func(*view.View) {
	f, p := newForecaster(cfg), &pricer{path: a.pricesPath(), log: log}
	return func(v *view.View) {
		f.fill(v)
		p.fill(v)
		a.quotas.fill(ctx, v)
	}
}

// How old the waits may be that estimates are from, and that are too few for one. A history that
// takes long is read less often: reading it takes at most one part in readShare of the time.
const (
	bookAge   = 10 * time.Minute
	fewAge    = time.Minute
	readShare = 100
)

// forecaster estimates the waits of a view by the history. Where the history cannot be
// read, or has not been read yet, there are no estimates. It is read beside the passes,
// which no disk that hangs may hold up.
type forecaster struct {
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

func newForecaster(cfg *config.Config) *forecaster {
	return &forecaster{dir: cfg.Options.StateDir, cluster: cfg.Cluster}
}

// fill adds estimates to the rows that wait for capacity.
func (f *forecaster) fill(v *view.View) {
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
		row.Estimate = &view.Estimate{Half: secondsOf(a.Half), Ninety: secondsOf(a.Ninety), Requests: a.Samples, Change: (*view.Change)(a.Change)}
	}
}

// read takes over the history as it is. For want of estimates it does so only if the history
// has grown.
func (f *forecaster) read(now time.Time, few bool) {
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
func (f *forecaster) isRead(size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.book == nil || f.size != size {
		return false
	}
	f.reads = false
	return true
}

func secondsOf(n *int64) view.Seconds {
	if n == nil {
		return 0
	}
	return view.Seconds(time.Duration(*n) * time.Second)
}
