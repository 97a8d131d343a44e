// Package past remembers the last day of a cluster: how many nodes waited and ran,
// what leases were used for, and what became of jobs. People look at it; nothing is
// decided by it, and it is lost when the daemon stops. It is pure: its times are
// those of the views.
package past

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/view"
)

// The bounds of what a day holds.
const (
	Length     = 24 * time.Hour
	pace       = time.Minute // between samples
	mostJobs   = 2000
	mostEvents = 60 // of a job
	mostUses   = 60 // of a lease
)

// Day is what was seen in the last day. A copy that Clone made does not change.
type Day struct {
	Since   time.Time // when it began to look; zero if it has not
	Samples []Sample  // the oldest first

	jobs   map[uint32]Job
	leases map[lease][]Use
}

// Clone is the day as it is now.
func (d *Day) Clone() Day {
	return Day{Since: d.Since, Samples: d.Samples, jobs: maps.Clone(d.jobs), leases: d.leases}
}

// See adds what a pass saw. What was seen in part is no sample.
func (d *Day) See(v view.View) {
	if d.Since.IsZero() {
		d.Since, d.jobs = v.SeenAt, map[uint32]Job{}
	}
	n := len(d.Samples)
	if !v.Unread() && (n == 0 || v.SeenAt.Truncate(pace).After(d.Samples[n-1].At.Truncate(pace))) {
		d.Samples = append(d.Samples, SampleOf(v))
	}
	for len(d.Samples) > 0 && v.SeenAt.Sub(d.Samples[0].At) > Length {
		d.Samples = d.Samples[1:]
	}
	if !v.Unread() {
		d.use(v)
	}
	d.follow(v)
}

// Job is the story of the job that squeue shows by that name, or whose raw id that
// is. It reports false if there is none.
func (d *Day) Job(name string) (job Job, ok bool) {
	for _, j := range d.jobs {
		if j.Is(name) {
			return j, true
		}
	}
	return Job{}, false
}

// Story is what the day knows of a job; nil if that is nothing.
func (d *Day) Story(name string) *view.Past {
	j, ok := d.Job(name)
	if !ok || len(j.events) == 0 {
		return nil
	}
	return &view.Past{Job: j.Job, EndedAt: j.EndedAt, Since: d.Since, Events: j.Events()}
}

// Ended are the jobs that have left Slurm's queue, the last first.
func (d *Day) Ended() []Job {
	var ended []Job
	for _, j := range d.jobs {
		if !j.EndedAt.IsZero() {
			ended = append(ended, j)
		}
	}
	slices.SortFunc(ended, func(a, b Job) int { return b.EndedAt.Compare(a.EndedAt) })
	return ended
}
