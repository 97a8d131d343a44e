// Package past remembers the last day of a cluster: how many nodes waited and ran, how leases were
// used, and the stories of jobs. It is only for people: nothing is decided from it, and it is lost
// when the daemon stops. It is pure: its times are those of the views.
package past

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/view"
)

// The limits of a day.
const (
	Length     = 24 * time.Hour
	pace       = time.Minute // between samples
	mostJobs   = 2000
	mostEvents = 60 // per job
	mostUses   = 60 // per lease
)

// Day holds the observations of the last day. A copy returned by Clone does not change.
type Day struct {
	Since   time.Time // time of the first observation; zero before it
	Samples []Sample  // oldest first

	jobs   map[uint32]Job
	leases map[lease][]Use
}

// Clone returns a copy of the day as it is now.
func (d *Day) Clone() Day {
	return Day{Since: d.Since, Samples: d.Samples, jobs: maps.Clone(d.jobs), leases: d.leases}
}

// See adds the observations of a pass. An incomplete observation does not become a sample.
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

// Job returns the story of the job that squeue shows by that name, or that has it as its raw id. ok
// is false if the job is unknown.
func (d *Day) Job(name string) (job Job, ok bool) {
	for _, j := range d.jobs {
		if j.Is(name) {
			return j, true
		}
	}
	return Job{}, false
}

// Story returns the recorded story of a job; nil if the job is unknown.
func (d *Day) Story(name string) *view.Past {
	j, ok := d.Job(name)
	if !ok || len(j.events) == 0 {
		return nil
	}
	return &view.Past{Job: j.Job, EndedAt: j.EndedAt, Since: d.Since, Events: j.Events()}
}

// Ended returns the jobs that have left Slurm's queue, the last one first.
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
