package history

import (
	"fmt"
	"slices"
	"slurmflex/flex/plan/scene"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// look is what one pass saw, by what it is found by.
type look struct {
	cfg  *config.Config
	snap scene.Snapshot
	plan plan.Plan
	now  Time

	nodes    map[string]slurm.State
	jobs     map[uint32]*slurm.Job
	atWork   map[string][]*slurm.Job // by node: the jobs that run there, or are about to
	coming   map[string]bool         // nodes of jobs that have not all their nodes yet
	groups   map[mig.GroupID]*mig.Group
	machines map[string]*mig.Instance // ours, by name; the newest of one name
	accounts map[uint32]string
}

func newLook(cfg *config.Config, snap scene.Snapshot, p plan.Plan, accounts map[uint32]string) *look {
	l := &look{
		cfg: cfg, snap: snap, plan: p, now: At(snap.Now), accounts: accounts,
		nodes: make(map[string]slurm.State, len(snap.Nodes)), jobs: make(map[uint32]*slurm.Job, len(snap.Jobs)),
		atWork: make(map[string][]*slurm.Job, len(snap.Instances)), coming: map[string]bool{},
		groups: make(map[mig.GroupID]*mig.Group, len(snap.Groups)), machines: make(map[string]*mig.Instance, len(snap.Instances)),
	}
	for i := range snap.Nodes {
		l.nodes[snap.Nodes[i].Name] = snap.Nodes[i].State
	}
	for i := range snap.Jobs {
		j := &snap.Jobs[i]
		l.jobs[j.ID] = j
		if !j.State.HoldsNodes() {
			continue
		}
		runs := j.State.AtWork() || !slices.ContainsFunc(j.Nodes, func(name string) bool { return !Registered(l.nodes[name]) })
		for _, name := range j.Nodes {
			if runs {
				l.atWork[name] = append(l.atWork[name], j)
			} else {
				l.coming[name] = true
			}
		}
	}
	for i := range snap.Groups {
		if g := &snap.Groups[i]; g.Stamp.Cluster == cfg.Cluster {
			l.groups[g.ID()] = g
		}
	}
	for i := range snap.Instances {
		in := &snap.Instances[i]
		if known := l.machines[in.Name]; l.isOurs(in) && (known == nil || known.Created.Before(in.Created)) {
			l.machines[in.Name] = in
		}
	}
	return l
}

func (l *look) isOurs(in *mig.Instance) bool {
	return l.groups[in.GroupID()] != nil || in.Group == "" && in.Stamp.Cluster == l.cfg.Cluster
}

// reads reports whether the region could be read.
func (l *look) reads(region string) bool { return l.snap.Unseen[region] == nil }

// who is the job of that raw id, and whose it is as far as that is known still.
func (l *look) who(id uint32) Who {
	j := l.jobs[id]
	if j == nil {
		return Who{Job: id}
	}
	w := Who{Job: id, User: j.User, Account: l.accounts[id], Partition: j.Partition}
	if name := j.Name(); name != fmt.Sprint(id) {
		w.Name = name
	}
	return w
}

// madeFor is the job that what bears the stamp was made for; in a group that tasks of an
// array share, one of them that has one of the nodes; 0 if there is none.
func (l *look) madeFor(stamp mig.Stamp, nodes ...string) (job uint32) {
	if stamp.Array == 0 {
		return stamp.Job
	}
	for id, j := range l.jobs {
		if j.Array() == stamp.Array && (job == 0 || id < job) && slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(j.Nodes, n) }) {
			job = id
		}
	}
	return job
}

// place fills in what a nodeset's machines are.
func (l *look) place(e *Entry, nodeset, region string, count int) {
	e.Version, e.NodeSet, e.Region, e.Count = Version, nodeset, region, count
	for _, set := range l.cfg.FlexSets() {
		if set.Name == nodeset {
			e.Machine = l.snap.Templates[set.Template].MachineType
		}
	}
	machine, _ := mig.KnownMachine(e.Machine)
	e.GPUs = count * machine.GPUs
}

// Registered reports whether the slurmd of a node in that state has registered,
// and answers still.
func Registered(s slurm.State) bool {
	const without = slurm.PoweredDown | slurm.PoweringDown | slurm.PoweringUp | slurm.PowerUp | slurm.NotResponding
	up := s.Base == slurm.Idle || s.Base == slurm.Allocated || s.Base == slurm.Mixed
	return up && s.Flags&without == 0
}

// goneAfter is for how long lists must have lacked a thing before it is taken for
// gone: they lag, and may be wrong once.
const goneAfter = Time(time.Minute / time.Second)
