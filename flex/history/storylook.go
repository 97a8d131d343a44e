package history

import (
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
)

// queueLook is the observation of one pass, in the form that stories need.
type queueLook struct {
	scene *scene.Scene // shows unread regions as last known
	at    time.Time

	lost map[string]bool // nodes with lost machines
	jobs map[uint32]*jobLook
}

// jobLook is what a look shows of the nodes that a job holds.
type jobLook struct {
	waits  []*demand.Wait
	losses []*scene.Loss
}

func newQueueLook(s *scene.Scene, p plan.Plan) *queueLook {
	s = s.Recalled
	l := &queueLook{scene: s, at: second(s.Seen.Now), lost: map[string]bool{}, jobs: map[uint32]*jobLook{}}
	for i := range p.Waits {
		for _, j := range l.holders(p.Waits[i].Nodes) {
			j.waits = append(j.waits, &p.Waits[i])
		}
	}
	for i := range p.Losses {
		loss := &p.Losses[i]
		for _, j := range l.holders(loss.Nodes) {
			j.losses = append(j.losses, loss)
		}
		for _, name := range loss.Nodes {
			l.lost[name] = true
		}
	}
	return l
}

// job returns the record of a job, for the caller to fill in.
func (l *queueLook) job(id uint32) *jobLook {
	if l.jobs[id] == nil {
		l.jobs[id] = &jobLook{}
	}
	return l.jobs[id]
}

// holders returns the records of the jobs that hold some of the nodes.
func (l *queueLook) holders(nodes []string) (all []*jobLook) {
	for _, name := range nodes {
		for _, j := range l.scene.Named(name).Holders {
			if of := l.job(j.ID); !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
	}
	return all
}

// types returns the machine types of nodes; empty for nodes outside flex nodesets, and for unknown
// types.
func (l *queueLook) types(nodes []string) []string {
	of := make([]string, len(nodes))
	for i, name := range nodes {
		if set := l.scene.Config.FlexSetOf(name); set != nil {
			of[i] = l.scene.Seen.Templates[set.Template].MachineType
		}
	}
	return of
}

// second returns a time in UTC, to the second.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
