package notify

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
)

// memory holds the facts of earlier passes, so that each becomes an event only once.
type memory struct {
	since time.Time       // when the first pass began
	read  map[string]bool // the regions that a pass has read; empty: Slurm
	known map[key]known
}

// known is what matters of a fact that a pass has found.
type known struct {
	region string
	recurs bool
	pass   int64 // the last pass that found it, in Unix nanoseconds
}

func newMemory() memory { return memory{read: map[string]bool{}, known: map[key]known{}} }

// news returns the events of facts that are new, the most urgent last. What the first observation of
// Slurm or of a region finds is not new.
func (m *memory) news(s *scene.Scene, found []fact) (events []Event) {
	pass := s.Seen.Now.UnixNano()
	if !m.read[""] {
		m.since = s.Seen.Begun
	}
	for _, f := range found {
		isNew := false
		for _, k := range f.keys {
			_, old := m.known[k]
			isNew = isNew || !old
			m.known[k] = known{f.region, f.recurs, pass}
		}
		// What happened earlier is not new either, if the first pass could not read the job.
		earlier := (f.kind == config.JobRunning || f.kind == config.MachinesGranted) && f.keys[0].at < m.since.Unix()
		if isNew && m.read[f.region] && !earlier {
			events = append(events, f.event(s.Seen.Now))
		}
	}
	for k, is := range m.known {
		if is.pass != pass && isOver(s, k, is) {
			delete(m.known, k)
		}
	}
	m.read[""] = true
	for _, region := range s.Config.FlexRegions() {
		m.read[region] = m.read[region] || !s.Unseen(region)
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		urgency := func(e Event) int { return slices.Index(config.Events(), e.Kind) }
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	return events
}

// isOver reports whether a fact that the scene does not show may be forgotten. Lists may lack a
// machine for a moment, so most facts about a job are kept until the job has left the queue.
func isOver(s *scene.Scene, k key, is known) bool {
	if k.job == 0 {
		return !s.Unseen(is.region)
	}
	return !s.IsQueued(k.job) || is.recurs && s.Job(k.job) != nil
}
