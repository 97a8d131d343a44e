package scene

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Snapshot holds what one pass saw.
type Snapshot struct {
	Started time.Time     // when this process started its first pass
	Begun   time.Time     // when the pass started
	Now     time.Time     // when the pass had finished reading
	Skew    time.Duration // how far our clock is ahead of Compute's; 0 if unknown

	// Promises reports whether this process will make another pass soon, as the daemon does.
	Promises bool

	Slurm
	Compute
	Memory

	// Spent is what machines have taken; empty without limits.
	Spent Spent
}

// Slurm is what slurmctld reported.
type Slurm struct {
	Nodes []slurm.Node
	Jobs  []slurm.Job // read after Nodes, so it includes a job that has just started

	// Merged holds the rows of arrays from which Jobs lists tasks on their own, as the queue showed
	// them.
	Merged []slurm.Job

	// Reservations are all reservations in Slurm. A reservation with our prefix and the cluster's
	// name is ours.
	Reservations []slurm.Reservation

	Settings

	// Throttles holds, by array, how many tasks may run at once; 0: any number. Arrays that cannot
	// get doors may be missing.
	Throttles map[uint32]int

	// Unread holds the rows of Slurm's output that could not be read. They are in no other list,
	// except for the name of a node. A job among them may hold nodes.
	Unread slurm.Unread

	// Told holds the known AdminComments of jobs: the last message that slurmflex wrote for each
	// job's owner.
	Told map[uint32]string

	// Records holds the records of jobs, with the AdminComment as it was when they were read. A job
	// with an unread record has no entry, and slurmflex takes no nodes from it.
	Records map[uint32]slurm.JobRecord

	// Allowances are Slurm's limits of accounts, users, QOS and licenses. They are empty if no job
	// waits pending for machines, or if AllowancesErr is set.
	Allowances    slurm.Allowances
	AllowancesErr error
}

// Settings is what slurm.conf says, read within the last ten minutes.
type Settings struct {
	Partitions []slurm.Partition

	// ResumeTimeout is the shortest ResumeTimeout of our nodes; 0 if they may power up
	// indefinitely.
	ResumeTimeout time.Duration

	// SuspendTime is the shortest SuspendTime of our partitions: how long a node may be idle before
	// Slurm powers it down. 0 means never.
	SuspendTime time.Duration

	// SlurmctldSince is when slurmctld started; zero if unknown.
	SlurmctldSince time.Time

	// Unplanned is why slurmflex cannot request what Slurm has planned; empty if it can.
	Unplanned string

	// BackfillWindow is how far ahead Slurm's backfill plans jobs; 0 without backfill.
	BackfillWindow time.Duration

	// Private reports whether Slurm hides jobs from users who do not own them.
	Private bool
}

// Compute is what Compute reported.
type Compute struct {
	Groups    []mig.Group // with our stamp and cluster; groups with a newer stamp are only reported
	Instances []mig.Instance
	Policies  []mig.Policy // workload policies of the cluster

	// Foreign are the groups with slurm-gcp's names and no stamp. It is set only if the pass
	// removes what slurm-gcp's scripts have left.
	Foreign []mig.Group

	// Members holds the members that miscounted groups name; see Miscounted.
	Members map[mig.GroupID]Members

	// Templates are the instance templates of our nodesets, by link.
	Templates map[string]Template

	// Left are regions without a nodeset of ours that were read too, because this process may have
	// left something there before its configuration changed.
	Left []string

	// Unseen holds the regions that could not be read, with the error. Their groups and instances
	// are not in the snapshot, and slurmflex creates, cancels and deletes nothing in them.
	Unseen map[string]error

	// UnseenPolicies holds the regions with unreadable workload policies. Only actions that need
	// the policies wait.
	UnseenPolicies map[string]error
}

// Memory is what this process remembers of earlier passes. It is empty in a process that makes only
// one pass.
type Memory struct {
	Clocks

	// BadHosts holds, by physical host, the last machine that failed its health check there.
	BadHosts map[string]BadHost

	// Late holds the pending jobs that did not start although all their machines were up, or that
	// slurmctld refused a reservation.
	Late map[uint32]Late

	// Refused holds, by group name, why Compute refused to create a group or a request. For a
	// request in a shared group, the key is its Outcome. Compute keeps no record of a refusal, so
	// the process remembers it.
	Refused map[string]Refusal

	// Asking holds the instances that an earlier pass is still creating: the call has not returned.
	Asking map[string]bool

	// Inserted holds the instances that this process has created without a group and that no list
	// has shown yet.
	Inserted map[string]bool

	// Missed holds the nodes that were up in Slurm without an unbroken machine in two consecutive
	// passes, after a machine of ours had existed. A single list may be wrong.
	Missed map[string]bool

	// Preempted holds the nodes without an unbroken machine where a pass saw that Google preempted
	// the machine.
	Preempted map[string]bool

	// Ends holds, for each node that is up, when its machine ends, to the second, as this pass or
	// an earlier one saw it. A reservation records only the minute.
	Ends map[string]time.Time

	// LastKnown holds what an earlier pass read of the regions in Unseen, as far as this process
	// remembers it. It is for display, for Hidden, and for what counts towards limits. No other decision uses it.
	LastKnown map[string]LastKnown
}

// Clocks are what the passes of a process count of waits. Each pass goes on from those of the last plan.
type Clocks struct {
	// Asked holds how long each claim's requests were live or refused, up to this process's last pass.
	Asked map[string]Asked

	// Unasked holds since when this process has seen a pending job lack only nodes, without a
	// request and without a reason for having none; see Plan.Held in package plan.
	Unasked map[uint32]time.Time

	// Crowded holds since when this process has seen a pending job without a request because its
	// nodesets lacked free nodes.
	Crowded map[uint32]time.Time
}

// Late holds until when slurmflex requests no machines for a pending job, and Slurm's reason why
// the job did not start on the machines that it had.
type Late struct {
	Until  time.Time
	Reason string // why Slurm did not start it, in Slurm's words
	// Slurmctld makes no reservation for the job's user; the job got no machines.
	Unknown bool
	// Slurm's answer, if it has refused the job's reservation several times; the job got no machines.
	Refused  string
	Unusable bool // the reservation was made, and slurmctld refused that the job uses it
}

// JobLimits holds how long a job's owner is willing to wait. Each field may be zero.
type JobLimits struct {
	Wait time.Duration // the longest wait for machines (its --comment)
	// What happens to the job then: requeue, hold, cancel; empty: its owner set nothing.
	Then     string
	Deadline time.Time     // when the job must have ended (--deadline)
	MinTime  time.Duration // the shortest acceptable time limit (--time-min); 0: its own limit
}

// LimitsOf returns the limits in a job's record.
func LimitsOf(rec slurm.JobRecord) JobLimits {
	wait, then := memo.OwnersWait(rec.Comment)
	return JobLimits{wait, then, rec.Deadline, rec.MinTime}
}

// LastKnown holds the last known content of a region, and when it was read.
type LastKnown struct {
	At        time.Time
	Groups    []mig.Group
	Instances []mig.Instance
}

// recall returns the snapshot with each unread region as it was last known.
func (s Snapshot) recall() Snapshot {
	s.Groups, s.Instances, s.Unseen = slices.Clone(s.Groups), slices.Clone(s.Instances), maps.Clone(s.Unseen)
	for _, region := range slices.Sorted(maps.Keys(s.LastKnown)) {
		s.Groups = append(s.Groups, s.LastKnown[region].Groups...)
		s.Instances = append(s.Instances, s.LastKnown[region].Instances...)
		delete(s.Unseen, region)
	}
	return s
}

// Regions returns the regions that the pass is to read, sorted: those of the nodesets, and Left.
func (s *Snapshot) Regions(cfg *config.Config) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(cfg.FlexRegions(), s.Left))))
}

// Hidden returns the unread region in which an instance or a request of each name was last known.
// The nodeset that has the name may be in another region by now.
func (s Snapshot) Hidden() map[string]string {
	hidden := map[string]string{}
	for region, known := range s.LastKnown {
		if s.Unseen[region] == nil {
			continue
		}
		for i := range known.Instances {
			hidden[known.Instances[i].Name] = region
		}
		for i := range known.Groups {
			for _, r := range known.Groups[i].Live() {
				for _, name := range r.Instances {
					hidden[name] = region
				}
			}
		}
	}
	return hidden
}

// Ours returns the cluster's instances, by their index in Instances. These are the instances in the
// cluster's groups, and those without a group that carry its stamp.
func (s Snapshot) Ours(cluster string) iter.Seq2[int, mig.Instance] {
	return func(yield func(int, mig.Instance) bool) {
		groups := make(map[mig.GroupID]bool, len(s.Groups))
		for _, g := range s.Groups {
			if g.Stamp.Cluster == cluster {
				groups[g.ID()] = true
			}
		}
		for i, in := range s.Instances {
			if (groups[in.GroupID()] || in.Group == "" && in.Stamp.Cluster == cluster) && !yield(i, in) {
				return
			}
		}
	}
}

// Members holds a group's members, or the error that prevented reading them.
type Members struct {
	All []mig.Member
	Err error
}

// Template is an instance template, or the error that prevented reading it.
type Template struct {
	mig.Template
	Err error
}

// Asked counts how long a request for a claim was live or refused since Slurm allocated the nodes
// to its job. provision_timeout counts only this time. Compute records neither the end of a
// request nor a refused bulk insert, so the process remembers the time. After a restart the count
// starts from the live request, the last refusal, or the instance that has a node's name. That is later than before the restart, never earlier.
type Asked struct {
	Job  uint32 // the job that waits
	For  time.Duration
	At   time.Time // the time of the pass
	Runs bool      // a request was live or refused then
}

// UnreadText describes a region that could not be read.
func (s *Snapshot) UnreadText(region string) string {
	return fmt.Sprintf("region %s could not be read: %v", region, s.Unseen[region])
}
