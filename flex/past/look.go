package past

import (
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// look is the observation of one pass, in the form that a day needs.
type look struct {
	scene    *scene.Scene // shows unread regions as last known
	at       time.Time
	waits    []demand.Wait
	unserved []view.Unserved
	lost     map[string]*scene.Loss // by node

	jobs map[uint32]*jobLook // the jobs that wait for nodes, have lost some, or have a door
	flex map[string]bool     // the partitions with flex-start nodes
}

// jobLook is what a look shows of a job besides the nodes that Slurm has allocated to it.
type jobLook struct {
	awaited []string  // the nodes of its doors
	since   time.Time // when its first door was made; zero without a door
	waits   []*demand.Wait
	asked   []scene.Live // requests for which no nodes wait
	losses  []*scene.Loss
}

func newLook(s *scene.Scene, p plan.Plan) *look {
	s = s.Recalled()
	l := &look{
		scene: s, at: second(s.Seen.Now), waits: p.Waits, unserved: view.UnservedIn(s, p),
		lost: map[string]*scene.Loss{}, jobs: map[uint32]*jobLook{}, flex: map[string]bool{},
	}
	for _, partition := range s.Config.Partitions {
		l.flex[partition.Name] = s.Config.IsOurs(partition)
	}
	for i := range p.Waits {
		for _, j := range l.holders(p.Waits[i].Nodes) {
			j.waits = append(j.waits, &p.Waits[i])
		}
	}
	for _, u := range l.unserved {
		for _, j := range l.holders(u.Request.Instances) {
			j.asked = append(j.asked, u.Live)
		}
	}
	for i := range p.Losses {
		loss := &p.Losses[i]
		for _, j := range l.holders(loss.Nodes) {
			j.losses = append(j.losses, loss)
		}
		for _, name := range loss.Nodes {
			l.lost[name] = loss
		}
	}
	for _, d := range s.Doors() {
		if d.Taker != nil {
			j := l.job(d.Taker.ID)
			if j.since.IsZero() || d.At.Before(j.since) {
				j.since = d.At
			}
			j.awaited = append(j.awaited, slices.DeleteFunc(slices.Clone(d.Nodes), func(name string) bool {
				n := s.Node(name)
				return n == nil || n.Door != d
			})...)
		}
	}
	return l
}

// job returns the record of a job, for the caller to fill in.
func (l *look) job(id uint32) *jobLook {
	if l.jobs[id] == nil {
		l.jobs[id] = &jobLook{}
	}
	return l.jobs[id]
}

// holders returns the records of the jobs that hold some of the nodes.
func (l *look) holders(nodes []string) (all []*jobLook) {
	for _, name := range nodes {
		for _, j := range l.scene.HoldersOf(name) {
			if of := l.job(j.ID); !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
	}
	return all
}

// isOnFlex reports whether one of the job's partitions has flex-start nodes.
func (l *look) isOnFlex(j *slurm.Job) bool {
	for name := range strings.SplitSeq(j.Partition, ",") {
		if l.flex[name] {
			return true
		}
	}
	return false
}

// machines yields the cluster's machines, without those that their jobs have lost.
func (l *look) machines(yield func(scene.Machine) bool) {
	for _, in := range l.scene.Machines() {
		if l.isThere(in) && !yield(in) {
			return
		}
	}
}

func (l *look) isThere(in scene.Machine) bool { return l.lost[in.Name] == nil && l.scene.Belongs(in) }

// types returns the machine types of nodes; empty for nodes outside flex nodesets, and for unknown
// types.
func (l *look) types(nodes []string) []string {
	of := make([]string, len(nodes))
	for i, name := range nodes {
		if set := l.scene.Config.FlexSetOf(name); set != nil {
			of[i] = l.scene.Seen.Templates[set.Template].MachineType
		}
	}
	return of
}

// gpus returns the GPUs of a machine of each nodeset. Nodesets with an unknown machine type are
// missing.
func (l *look) gpus() map[string]int {
	all := map[string]int{}
	for _, set := range l.scene.Config.FlexSets() {
		if machine, known := mig.KnownMachine(l.scene.Seen.Templates[set.Template].MachineType); known {
			all[set.Name] = machine.GPUs
		}
	}
	return all
}

// second returns a time in UTC, to the second.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
