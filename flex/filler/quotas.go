package filler

import (
	"context"
	"sync"
	"time"

	"slurmflex/flex/view"
	"slurmflex/mig"
)

const (
	quotaAge   = 5 * time.Minute  // how old the quotas may be that are shown
	quotaLimit = 10 * time.Second // for reading those of one region
)

// Quotas adds to views what the project has and uses of the quotas of each region. In a daemon
// they are read beside the passes, which need none of them.
type Quotas struct {
	Region func(ctx context.Context, name string) (mig.Region, error)
	Note   func(region string, quotas []mig.Quota) // takes those that flex-start uses

	mu    sync.Mutex
	known map[string]*knownQuotas // by region
}

// knownQuotas is what was read of a region.
type knownQuotas struct {
	asked time.Time // when it was last asked for
	at    time.Time // when it was last read; zero: never
	is    mig.Region
	err   error
}

// Fill adds what is known, and begins to read what is too old.
func (q *Quotas) Fill(ctx context.Context, v *view.View) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range v.Regions {
		r := &v.Regions[i]
		known := q.of(r.Name)
		if known.asked.IsZero() || v.SeenAt.Sub(known.asked) >= quotaAge {
			known.asked = v.SeenAt
			go q.read(ctx, r.Name)
		}
		switch {
		case known.at.IsZero():
		case known.err != nil:
			r.QuotaFail = known.err.Error()
			q.Note(r.Name, nil)
		default:
			v.SetQuotas(known.is, known.at)
			q.Note(r.Name, known.is.FlexQuotas(v.GPUs(r.Name)))
		}
	}
}

// Now reads regions that are about to be shown, and begins at once.
func (q *Quotas) Now(ctx context.Context, regions []string) (wait func()) {
	var reads sync.WaitGroup
	for _, region := range regions {
		q.mu.Lock()
		q.of(region).asked = time.Now()
		q.mu.Unlock()
		reads.Go(func() { q.read(ctx, region) })
	}
	return reads.Wait
}

// of is what is known of a region; q.mu must be held.
func (q *Quotas) of(region string) *knownQuotas {
	if q.known == nil {
		q.known = map[string]*knownQuotas{}
	}
	if q.known[region] == nil {
		q.known[region] = &knownQuotas{}
	}
	return q.known[region]
}

func (q *Quotas) read(ctx context.Context, region string) {
	ctx, cancel := context.WithTimeout(ctx, quotaLimit)
	defer cancel()
	is, err := q.Region(ctx, region)
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.of(region)
	known.at, known.is, known.err = time.Now(), is, err
}
