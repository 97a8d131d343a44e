// Package past remembers the last day of a cluster: how many nodes waited and ran, how leases were
// used, and the stories of jobs. It is only for people: nothing is decided from it, and it is lost
// when the daemon stops. It is pure: its times are those of the passes.
package past

import (
	"slices"
	"time"

	"slurmflex/flex/ledger"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
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
	Latest  Sample    // of the last complete observation

	scene  *scene.Scene      // of the last pass, with the jobs that are in the queue
	jobs   map[uint32]*story // by raw id
	leases ledger.Book[lease, used]
}

// Clone returns a copy of the day as it is now.
func (d *Day) Clone() Day {
	c := *d
	c.jobs, c.leases = make(map[uint32]*story, len(d.jobs)), d.leases.Clone()
	for id, of := range d.jobs {
		s := *of
		c.jobs[id] = &s
	}
	return c
}

// See adds the observations of a pass. An incomplete observation does not become a sample.
func (d *Day) See(s *scene.Scene, p plan.Plan) {
	l := newLook(s, p)
	if d.Since.IsZero() {
		d.Since, d.jobs = l.at, map[uint32]*story{}
	}
	if isComplete(s) {
		d.Latest = l.sample()
		if n := len(d.Samples); n == 0 || l.at.Truncate(pace).After(d.Samples[n-1].At.Truncate(pace)) {
			d.Samples = append(d.Samples, d.Latest)
		}
	}
	d.use(l)
	for len(d.Samples) > 0 && l.at.Sub(d.Samples[0].At) > Length {
		d.Samples = d.Samples[1:]
	}
	d.follow(l)
	d.scene = l.scene
}

// isComplete reports whether all regions could be read.
func isComplete(s *scene.Scene) bool { return !slices.ContainsFunc(s.Regions(), s.Unseen) }

// Job returns the story of the job that squeue shows by that name, or that has it as its raw id. ok
// is false if the job is unknown.
func (d *Day) Job(name string) (job Job, ok bool) {
	for id, of := range d.jobs {
		told := of.Job
		if j := d.scene.Job(id); j != nil {
			told.Job = view.JobOf(d.scene, j)
		}
		if told.Is(name) {
			return told, true
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
			ended = append(ended, j.Job)
		}
	}
	slices.SortFunc(ended, func(a, b Job) int { return b.EndedAt.Compare(a.EndedAt) })
	return ended
}
