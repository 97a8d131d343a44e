package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Unasked is a pending job of a covered nodeset that lacks nothing but nodes, and for which no machines
// are requested.
type Unasked struct {
	Job     uint32
	Name    string // see slurm.Job.Name
	NodeSet string
	Why     string    // why no machines are requested; empty if that is not known
	Since   time.Time // when the process first saw it without a reason that may last; zero: it has one
}

// starvesAfter is how long a job may wait without a request and without a reason for that. Slurm's
// backfill, which starts jobs on idle machines, may take several of its intervals of 30 s.
const starvesAfter = 5 * time.Minute

// Starves reports whether the job has waited for too long.
func (u Unasked) Starves(now time.Time) bool {
	return !u.Since.IsZero() && now.Sub(u.Since) >= starvesAfter
}

// unasked returns the jobs for which no machines are requested, nor by these wants, without those that
// are held back. Those without a reason keep the time of the last pass.
func unasked(s *scene.Scene, wants []want, held []Wait) (all []Unasked) {
	sets := covered(s)
	if len(s.Covers()) == 0 {
		return nil
	}
	asked := map[string]bool{} // by the id of the job, of the array, or of the heterogeneous job
	for _, d := range s.Doors() {
		asked[wholeOf(d.Address)] = asked[wholeOf(d.Address)] || !d.Cold
	}
	stocks := stocksOf(s, sets)
	for _, w := range wants {
		asked[wholeOf(w.address)] = true
		for _, of := range stocks {
			of.cold = without(of.cold, w.nodes)
		}
	}
	for _, j := range byTier(s) {
		places, whole := placesOf(s, sets, j), wholeOf(j.Address())
		if j.IsTasks() {
			whole = fmt.Sprint(j.ArrayID)
		}
		hasCold := isBehindColdDoor(s, j)
		if len(places) == 0 || asked[whole] || slices.ContainsFunc(held, func(w Wait) bool { return w.Job == j.ID }) || !hasCold && !LacksNodes(*j) {
			continue
		}
		set := places[0]
		u := Unasked{Job: j.ID, Name: j.Name(), NodeSet: set.Name}
		why, lasts := "Slurm is choosing its nodes", false
		if !hasCold {
			why, lasts = obstacle(s, j, set, stocks[set])
		}
		u.Why = why
		switch since := s.Seen.Unasked[j.ID]; {
		case hasCold || !lasts && !since.IsZero():
			u.Since = since
		case !lasts:
			u.Since = s.Seen.Now
		}
		all = append(all, u)
	}
	return all
}

// isBehindColdDoor reports whether Slurm is choosing the job's nodes among those of its door.
func isBehindColdDoor(s *scene.Scene, j *slurm.Job) bool {
	return j.State == slurm.JobPending && slices.ContainsFunc(s.Doors(), func(d *scene.Door) bool {
		return d.Cold && d.Job != nil && (d.Job.ID == j.ID || j.HetID != 0 && d.Job.HetID == j.HetID)
	})
}

// wholeOf returns the id in a job's address: that of the array for one of its tasks.
func wholeOf(address string) string {
	id, _, _ := strings.Cut(address, "_")
	return id
}

// obstacle returns why no machines are requested for a job, and whether that may last.
func obstacle(s *scene.Scene, j *slurm.Job, set *config.NodeSet, of *stock) (why string, lasts bool) {
	needs, err := slurm.Expand(j.Needs)
	excluded, bad := slurm.Expand(j.Excludes)
	taken := slices.DeleteFunc(slices.Clone(needs), func(name string) bool { return slices.Contains(of.cold, name) })
	left := slices.DeleteFunc(slices.Clone(of.cold), func(name string) bool { return slices.Contains(excluded, name) })
	switch {
	case wasLate(s, j):
		return "it did not start although its nodes were free for it, so Slurm is to choose its nodes", true
	case len(usable(s, of.warm, j)) >= j.NodeCount:
		return "idle machines fit it, and Slurm has not started it yet", false
	case err != nil || bad != nil:
		return "", false
	case len(taken) > 0:
		return fmt.Sprintf("it asks for %s, which other jobs have or which is out of service", slurm.Fold(taken)), true
	case len(left) < j.NodeCount && j.HetID == 0:
		return fmt.Sprintf("it needs %d nodes, and %d names of nodeset %s are left", j.NodeCount, len(left), set.Name), true
	}
	for i := range s.Seen.Jobs {
		other := &s.Seen.Jobs[i]
		if j.HetID != 0 && other.HetID == j.HetID && !LacksNodes(*other) && !waitsForOthers(other) {
			return fmt.Sprintf("component %s waits for something else (%s)", other.Name(), other.Reason), true
		}
	}
	if j.HetID != 0 {
		return "its components need more names than are left", true
	}
	return "", false
}

// starving names the jobs that wait without a request and without a reason.
func starving(s *scene.Scene, all []Unasked) (ps []scene.Problem) {
	for _, u := range all {
		if u.Starves(s.Seen.Now) {
			ps = append(ps, scene.NewProblem("job-starves", u.Name, "job %s has lacked only nodes of %s for %s, and no machines are requested for it (%s); slurmflex now lets Slurm choose its nodes, once every five minutes: compare scontrol show job %[1]s with the nodes",
				u.Name, u.NodeSet, roughly(s.Seen.Now.Sub(u.Since)), u.Reason()))
		}
	}
	return ps
}

// Reason returns why no machines are requested.
func (u Unasked) Reason() string {
	if u.Why == "" {
		return "the reason is unknown"
	}
	return u.Why
}

// WithoutReason returns since when jobs wait without a reason, for the next pass.
func WithoutReason(all []Unasked) map[uint32]time.Time {
	sinces := map[uint32]time.Time{}
	for _, u := range all {
		if !u.Since.IsZero() {
			sinces[u.Job] = u.Since
		}
	}
	return sinces
}

// coldWant returns the most important job that slurmflex cannot request machines for, with all names
// that are left, among which Slurm chooses; none while another job has such a door, or no names are
// left. It is a job that has not started when all its machines had come, or one that starves.
func coldWant(s *scene.Scene, wants []want, left []Unasked) []want {
	if slices.ContainsFunc(s.Doors(), func(d *scene.Door) bool { return d.Cold && d.Job != nil && d.Job.HetID == 0 }) {
		return nil
	}
	sets := covered(s)
	starves := map[uint32]bool{}
	for _, u := range left {
		starves[u.Job] = u.Starves(s.Seen.Now)
	}
	stocks := stocksOf(s, sets)
	for _, j := range byTier(s) {
		isDue := starves[j.ID] || wasLate(s, j) && !isLate(s, j)
		places := placesOf(s, sets, j)
		if !isDue || len(places) == 0 || !LacksNodes(*j) || j.HetID != 0 {
			continue
		}
		set := places[0]
		names := slices.DeleteFunc(stocks[set].cold, func(name string) bool {
			return slices.ContainsFunc(wants, func(w want) bool { return slices.Contains(w.nodes, name) })
		})
		if addresses := addresses(j, 0, nil); len(names) >= j.NodeCount && len(addresses) > 0 {
			return []want{{job: j, address: addresses[0], set: set, nodes: names, cold: true}}
		}
	}
	return nil
}
