package fakeslurm

import (
	"cmp"

	"slurmflex/slurm"
)

// Releases are those of Slurm whose habits the model knows, the oldest that
// slurmflex works with first.
func Releases() []string {
	return []string{"22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05"}
}

// habits are what Slurm's releases do differently. Source: trials on 22.05.8,
// 23.02.8, 23.11.11, 24.05.8, 24.11.5, 25.05.8, 25.11 and 26.05.5; the
// TestModel… scenarios hold them against the releases that Debian has.
type habits struct {
	// hidesPoweredDown: without PrivateData=cloud, nodes that are powered down are
	// not shown.
	hidesPoweredDown bool
	// partitionPower: partitions have a PowerDownOnIdle, and show it, their ResumeTimeout
	// and their SuspendTime.
	partitionPower bool
	// marksNoLongerDown: a node that is marked to be powered down loses
	// POWERED_DOWN.
	marksNoLongerDown bool
	// silentOnceGivenUp: a node stays NOT_RESPONDING after ResumeTimeout.
	silentOnceGivenUp bool
	// refusesUnknownNodes: a reservation takes no list that has an unknown node.
	// Others leave it out.
	refusesUnknownNodes bool
	// wholeNodeLists: scontrol update refuses nodes+= and nodes-= of reservations.
	wholeNodeLists bool
	// holdsMisfits: a job that needs nodes outside its reservation has priority 0 and the reason
	// BadConstraints until its reservation changes; then it has the priority of a new job.
	holdsMisfits bool
	// addsReasons: a reason of slurmctld's own is added to the one that is there.
	addsReasons bool
	// clearsReasons: a node that is back in service, or powered up by hand, has no
	// reason any more.
	clearsReasons bool
	// remembersWhyDown: one that is down keeps its reason when it is powered up.
	remembersWhyDown bool
	// expectsPoweredDown: slurmctld waits for the slurmd of a node that is put back
	// into service, even if it is powered down.
	expectsPoweredDown bool

	// shortestRun: of powered-down nodes, a job gets those of the shortest run of consecutive free
	// nodes that is long enough. Otherwise it gets the first. Releases between 24.11 and 26.05 are
	// not tried.
	shortestRun bool
	// descendingPriority: each job's priority is one less than that of the job
	// before (priority/basic). Otherwise all have the same.
	descendingPriority bool
	// busyOnRestart: a slurmctld that starts takes all nodes that are not powered
	// down to have been busy just now.
	busyOnRestart bool
	// requeuesAtOnce: a job that is requeued while it is configuring may start
	// again at once. If it is held too, squeue goes on to show its nodes.
	requeuesAtOnce bool
	// refusesTooWide: sbatch refuses a job of more nodes than its partition has.
	// Otherwise it waits.
	refusesTooWide bool
}

// habitsOf are the habits of a release, with or without a slurmdbd.
func habitsOf(v slurm.Version, accounting bool) habits {
	before := func(major, minor int) bool { return !v.AtLeast(major, minor) }
	return habits{
		hidesPoweredDown:    before(23, 2),
		partitionPower:      !before(23, 2),
		marksNoLongerDown:   before(23, 2),
		silentOnceGivenUp:   before(23, 2),
		refusesUnknownNodes: before(23, 2),
		wholeNodeLists:      before(24, 11),
		holdsMisfits:        before(24, 11),
		addsReasons:         !before(23, 2),
		clearsReasons:       accounting || before(23, 2) || !before(26, 5),
		remembersWhyDown:    !before(23, 2),
		expectsPoweredDown:  before(26, 5),
		shortestRun:         before(26, 5),
		descendingPriority:  before(23, 11),
		busyOnRestart:       before(24, 5),
		requeuesAtOnce:      before(24, 11),
		refusesTooWide:      !before(24, 11) && before(25, 11),
	}
}

// version is the release that the options name. They are of a test: one that
// cannot be read is a mistake in it.
func (o Options) version() slurm.Version {
	v, err := slurm.ParseVersion(cmp.Or(o.Version, "24.11.5"))
	if err != nil {
		panic(err)
	}
	return v
}
