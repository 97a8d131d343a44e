package plan

import (
	"cmp"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// leastLimit returns the shortest time limit that the job accepts: its --time-min, or its own limit.
func leastLimit(s *scene.Scene, j *slurm.Job) time.Duration {
	return cmp.Or(s.Seen.Limits[j.ID].MinTime, j.Limit.Duration)
}

// fits reports whether a job with that time limit would end before the node's machine does.
func fits(s *scene.Scene, limit time.Duration, m *scene.Node) bool {
	until, known := s.FreeUntil(m)
	return known && !s.Seen.Now.Add(limit+scene.StartTime).After(until)
}

// limitOn returns the time limit, in whole minutes, with which the job ends before the machines of the
// nodes do; 0 if its own limit is short enough.
func limitOn(s *scene.Scene, j *slurm.Job, nodes []string) (limit time.Duration) {
	for _, name := range nodes {
		m := s.Node(name)
		if m == nil || m.Power != scene.On {
			continue
		}
		if until, known := s.FreeUntil(m); known && !fits(s, j.Limit.Duration, m) {
			left := until.Sub(s.Seen.Now) - scene.StartTime
			limit = min(left, cmp.Or(limit, left))
		}
	}
	return max(limit.Truncate(time.Minute), 0)
}
