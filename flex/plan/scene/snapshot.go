package scene

import (
	"iter"
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Snapshot is what one pass saw.
type Snapshot struct {
	Started   time.Time     // when this process first looked
	Begun     time.Time     // when the pass began to look
	Now       time.Time     // when it had looked
	Skew      time.Duration // by how much our clock is ahead of Compute's, as far as that is known
	Nodes     []slurm.Node
	Jobs      []slurm.Job // read after Nodes, so a job that has just begun is in it
	Groups    []mig.Group // our stamp, our cluster; those of a newer stamp are only named
	Instances []mig.Instance
	Policies  []mig.Policy // workload policies, ours and our trials'
	Trials    []mig.Group  // those of slurmflex trial

	// Foreign are the groups with slurm-gcp's names and no stamp, if the pass removes what slurm-gcp's
	// scripts have left.
	Foreign []mig.Group

	// Reservations are Slurm's; those that bear our prefix and cluster are ours.
	Reservations []slurm.Reservation

	// Unread holds the rows of Slurm's that could not be read. They are in none
	// of the lists, but for a node's name. A job among them may hold nodes.
	Unread slurm.Unread

	// ResumeTimeout is the shortest of Slurm's for nodes of ours; 0 if they may
	// power up for ever.
	ResumeTimeout time.Duration

	// Partitions are Slurm's, as they were in the last ten minutes.
	Partitions []slurm.Partition

	// Private says that Slurm hides jobs from users who do not own them.
	Private bool

	// Told holds the AdminComments of jobs, as far as they are known: what we
	// last told a job's owner.
	Told map[uint32]string

	// Chains holds what the AdminComments of jobs remember of the partitions that these
	// may move between. Those that have none are not in it.
	Chains map[uint32]memo.Chain

	// Requeues says of jobs whether Slurm puts them back into the queue when they
	// lose their nodes. One whose record was not read is not in it, and loses none.
	Requeues map[uint32]bool

	// Limits holds what jobs' owners say of how long to wait for machines, as far as it is
	// known.
	Limits map[uint32]JobLimits

	// Reach holds how running jobs can be warned besides their AdminComment. It lacks jobs that
	// cannot be warned otherwise, and jobs with an unread record.
	Reach map[uint32]Reach

	// Templates are the instance templates of our nodesets, by their link.
	Templates map[string]Template

	// Unseen holds the regions that could not be read, with the reason. Their
	// groups and instances are not in the snapshot, and nothing in them is
	// created, cancelled or deleted.
	Unseen map[string]error

	// LastKnown holds what an earlier pass read of the regions in Unseen, as far as
	// that is remembered. It is for people to read; nothing is decided by it.
	LastKnown map[string]LastKnown

	// UnseenPolicies holds the regions whose workload policies could not be read:
	// only what needs them waits.
	UnseenPolicies map[string]error

	// Members holds what the groups that hide members say of them;
	// see Hidden.
	Members map[mig.GroupID]Members

	// Inserted holds the instances that this process has had made without a group
	// and that no list has shown yet.
	Inserted map[string]bool

	// Missed holds the nodes whose machine of ours was there, and that two passes in a
	// row found up in Slurm and without an unbroken machine: one list may be wrong.
	Missed map[string]bool

	// Preempted holds the nodes without an unbroken machine of which a pass saw that
	// Google took theirs back.
	Preempted map[string]bool

	// Asking holds the instances for which a request is about to be made: earlier
	// passes began that, and it is not done.
	Asking map[string]bool

	// Refused holds, by group name, why the cloud refused to make a group or a
	// request, or for a request in a group that is shared, by Outcome. A refusal leaves no record in the cloud, so the pass's owner
	// remembers it.
	Refused map[string]Refusal

	// Asked holds how long each cohort's requests were live or refused, up to this process's last
	// pass; see Plan.Asked.
	Asked map[string]Asked

	// Stockouts holds how often in a row nodesets were refused for lack of capacity, as far
	// as this process has seen.
	Stockouts map[string]Stockout
}

// Stockout says when a nodeset was last refused for lack of capacity and how often in a
// row, but for refusals within a rest. Once machines have come it is that time, and 0.
type Stockout struct {
	At     time.Time
	Times  int
	Probed bool // refused again in the second half of the rest
}

// How long a nodeset rests: twice as long with each refusal in a row.
const (
	leastRest = 5 * time.Minute
	mostRest  = 30 * time.Minute
)

// Until is when the nodeset's rest ends.
func (s Stockout) Until() time.Time {
	if s.Times == 0 {
		return s.At
	}
	return s.At.Add(min(leastRest<<min(s.Times-1, 3), mostRest))
}

// Middle is when the second half of the nodeset's rest begins.
func (s Stockout) Middle() time.Time { return s.At.Add(s.Until().Sub(s.At) / 2) }

// JobLimits is what a job's owner says of how long it waits. Each field may be zero.
type JobLimits struct {
	Wait     time.Duration // the longest wait for machines (its --comment)
	Deadline time.Time     // when it is to have ended (--deadline)
	MinTime  time.Duration // the least time limit that it takes (--time-min); 0: its own
}

// Reach is a way to warn a running job that its nodes end.
type Reach string

// The ways to warn. A signal kills a script that does not catch it, so slurmflex sends it only if
// the job's owner asked for it.
const (
	BySignal   Reach = "signal"   // its --comment has slurmflex:signal
	ByTerminal Reach = "terminal" // its owner waits in salloc or srun
)

// ReachOf returns how the job of a record can be warned; empty: only by its AdminComment.
func ReachOf(rec slurm.JobRecord) Reach {
	switch {
	case !rec.Batch:
		return ByTerminal
	case memo.AsksSignal(rec.Comment):
		return BySignal
	}
	return ""
}

// LastKnown is what was read of a region, and when.
type LastKnown struct {
	At        time.Time
	Groups    []mig.Group
	Instances []mig.Instance
}

// recall returns the snapshot as it would be if the regions that could not be read were as they were
// last known.
func (s Snapshot) recall() Snapshot {
	s.Groups, s.Instances, s.Unseen = slices.Clone(s.Groups), slices.Clone(s.Instances), maps.Clone(s.Unseen)
	for _, region := range slices.Sorted(maps.Keys(s.LastKnown)) {
		s.Groups = append(s.Groups, s.LastKnown[region].Groups...)
		s.Instances = append(s.Instances, s.LastKnown[region].Instances...)
		delete(s.Unseen, region)
	}
	return s
}

// Ours are the instances of the cluster: those that its groups have made, and
// those that bear its stamp themselves, by their places among all.
func (s Snapshot) Ours(cluster string) iter.Seq2[int, mig.Instance] {
	return func(yield func(int, mig.Instance) bool) {
		groups := make(map[mig.GroupID]bool, len(s.Groups))
		for _, g := range s.Groups {
			if g.Stamp.Cluster == cluster {
				groups[g.ID()] = true
			}
		}
		var last mig.GroupID // neighbours mostly are of one group
		ours := groups[last]
		for i, in := range s.Instances {
			if id := in.GroupID(); id != last {
				last, ours = id, groups[id]
			}
			if (ours || in.Group == "" && in.Stamp.Cluster == cluster) && !yield(i, in) {
				return
			}
		}
	}
}

// Members are a group's as they were read, or why they were not.
type Members struct {
	All []mig.Member
	Err error
}

// Template is an instance template as it was read back, or why it was not.
type Template struct {
	mig.Template
	Err error
}

// Asked counts how long a request for a cohort was live or refused since Slurm allocated the
// nodes to its job. The clocks of provision_timeout and fallback_after count only this time.
// Compute records neither the end of a request nor a refused bulk insert, so the process
// remembers the time. After a restart the clocks start from the live request, the last refusal,
// or the instance that has a node's name: later than before, never earlier.
type Asked struct {
	For  time.Duration
	At   time.Time // the time of the pass
	Runs bool      // a request was live or refused then
}
