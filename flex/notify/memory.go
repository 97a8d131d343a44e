package notify

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/ledger"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
)

// memory holds the facts of earlier passes, so that each becomes an event only once.
type memory struct {
	since time.Time              // when the first pass began
	known ledger.Book[key, bool] // whether the fact recurs
}

// news returns the events of new facts, the most urgent last.
func (m *memory) news(s *scene.Scene, p plan.Plan) (events []Event) {
	if m.known.Last("").IsZero() || s.Seen.Begun.Before(m.since) { // the clock was ahead
		m.since = s.Seen.Begun
	}
	find(s, p, func(f fact) {
		isNew := m.note(f)
		// What happened earlier is not new either, if the first pass could not read the job.
		earlier := (f.kind == config.JobRunning || f.kind == config.MachinesGranted) && f.key.at < m.since.Unix()
		if isNew && !earlier {
			events = append(events, f.event(s.Seen.Now))
		}
	})
	m.known.Close(s, func(k key, recurs *bool) bool { return isOver(s, k, *recurs) })
	slices.SortStableFunc(events, func(a, b Event) int {
		urgency := func(e Event) int { return slices.Index(config.Events(), e.Kind) }
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	return events
}

// note remembers a fact, and reports whether it is new.
func (m *memory) note(f fact) (isNew bool) {
	about := []string{f.key.about}
	if f.kind == config.MachineLost {
		about = f.nodes
	}
	for _, f.key.about = range about {
		recurs, unknown := m.known.Show(f.key, f.region)
		*recurs, isNew = f.recurs, isNew || unknown
	}
	return isNew
}

// isOver reports whether a fact that the scene does not show may be forgotten. Lists may lack a
// machine for a moment, so most facts about a job are kept until the job has left the queue.
func isOver(s *scene.Scene, k key, recurs bool) bool {
	return k.job == 0 || !s.IsQueued(k.job) || recurs && s.Job(k.job) != nil
}
