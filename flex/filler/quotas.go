package filler

import (
	"context"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
)

const (
	quotaAge   = 5 * time.Minute  // maximum age of shown quotas
	quotaLimit = 10 * time.Second // for the quotas of one region
)

// Quotas adds each region's quotas to views: the limits and their use by the project. In a daemon
// they are read in the background, because passes do not need them.
type Quotas struct {
	Region func(ctx context.Context, name string) (mig.Region, error)
	Note   func(region string, quotas []mig.Quota) // receives the quotas that flex-start uses

	mu    sync.Mutex
	known map[string]*knownQuotas // by region
}

// knownQuotas holds the quotas of a region as last read.
type knownQuotas struct {
	asked time.Time // when they were last requested
	at    time.Time // when they were last read; zero: never
	is    mig.Region
	err   error
}

// Keep notes the known quotas of a pass's regions, and starts to read those that are too old.
func (q *Quotas) Keep(ctx context.Context, s *scene.Scene) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, region := range s.Config.FlexRegions() {
		known := q.of(region)
		if known.asked.IsZero() || s.Seen.Now.Sub(known.asked) >= quotaAge {
			known.asked = s.Seen.Now
			go q.read(ctx, region)
		}
		switch {
		case known.at.IsZero():
		case known.err != nil:
			q.Note(region, nil)
		default:
			q.Note(region, known.is.FlexQuotas(view.GPUsIn(s, region)))
		}
	}
}

// Fill adds the known quotas.
func (q *Quotas) Fill(v *view.View) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range v.Regions {
		r := &v.Regions[i]
		switch known := q.of(r.Name); {
		case known.at.IsZero():
		case known.err != nil:
			r.QuotaFail = known.err.Error()
		default:
			v.SetQuotas(known.is, known.at)
		}
	}
}

// Now immediately starts to read the quotas of regions that are about to be shown.
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

// of returns the known quotas of a region. q.mu must be held.
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
