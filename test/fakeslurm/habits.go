package fakeslurm

import (
	"cmp"

	"slurmflex/slurm"
)

// Releases returns the Slurm releases that the model imitates. The first is the oldest release
// that slurmflex supports.
func Releases() []string {
	return []string{"22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05"}
}

// habits are the differences between Slurm's releases. Source: trials on 22.05.8, 23.02.8,
// 23.11.11, 24.05.8, 24.11.5, 25.05.8, 25.11 and 26.05.5. The TestModel… scenarios check them
// against the releases in Debian.
type habits struct {
	// partitionPower: partitions have a PowerDownOnIdle, and show it together with their
	// ResumeTimeout and SuspendTime.
	partitionPower bool
	// marksNoLongerDown: marking a node to be powered down clears POWERED_DOWN.
	marksNoLongerDown bool
	// silentOnceGivenUp: a node remains NOT_RESPONDING after ResumeTimeout.
	silentOnceGivenUp bool
	// refusesUnknownNodes: a reservation refuses a node list with an unknown node. Other
	// releases skip the unknown node.
	refusesUnknownNodes bool
	// wholeNodeLists: scontrol update refuses nodes+= and nodes-= of reservations.
	wholeNodeLists bool
	// holdsMisfits: a job that needs nodes outside its reservation gets priority 0 and the
	// reason BadConstraints. When its reservation changes, it gets the priority of a new job.
	holdsMisfits bool
	// addsReasons: slurmctld appends its own reason to an existing one.
	addsReasons bool
	// clearsReasons: returning a node to service, or powering it up by hand, clears its
	// reason.
	clearsReasons bool
	// remembersWhyDown: a node that is down keeps its reason when it is powered up.
	remembersWhyDown bool
	// expectsPoweredDown: slurmctld waits for the slurmd of a node returned to service, even
	// if the node is powered down.
	expectsPoweredDown bool

	// shortestRun: among powered-down nodes, a job gets the shortest sufficient run of
	// consecutive free nodes. Without it, the job gets the first nodes. Releases between 24.11
	// and 26.05 are untested.
	shortestRun bool
	// descendingPriority: each job's priority is one less than the previous job's
	// (priority/basic). Without it, all jobs have the same priority.
	descendingPriority bool
	// startOfLastTask: a waiting array shows the start of the task that was planned last. Without it,
	// the earliest of its tasks' starts. Its planned nodes are those of the last task.
	startOfLastTask bool
	// busyOnRestart: a starting slurmctld considers all nodes that are not powered down as
	// just used.
	busyOnRestart bool
	// requeuesAtOnce: a job requeued while configuring may start again at once. If the job is
	// also held, squeue still shows its nodes.
	requeuesAtOnce bool
	// refusesTooWide: sbatch refuses a job with more nodes than its partition has. Without it,
	// the job waits.
	refusesTooWide bool
}

// habitsOf returns the habits of a release, with or without slurmdbd.
func habitsOf(v slurm.Version, accounting bool) habits {
	before := func(major, minor int) bool { return !v.AtLeast(major, minor) }
	return habits{
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
		startOfLastTask:     before(23, 2),
		busyOnRestart:       before(24, 5),
		requeuesAtOnce:      before(24, 11),
		refusesTooWide:      !before(24, 11) && before(25, 11),
	}
}

// version parses the release in the options. It panics if the release is invalid, because that
// is a mistake in a test.
func (o Options) version() slurm.Version {
	v, err := slurm.ParseVersion(cmp.Or(o.Version, "24.11.5"))
	if err != nil {
		panic(err)
	}
	return v
}
