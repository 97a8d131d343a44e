package plan

import (
	"fmt"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// BulkInsert makes instances without a group: the legacy path of
// use_bulk_insert. It is all or nothing, and does not wait for capacity.
type BulkInsert struct {
	Group string // the name that the cohort's group would have
	Spec  mig.BulkSpec
	Why
}

// DeleteVMs deletes instances of ours that no group made.
type DeleteVMs struct {
	Instances []mig.Instance
	Why
}

func (a BulkInsert) String() string {
	return fmt.Sprintf("insert %s in %s for %s", counted(a.Spec.Instances),
		a.Spec.Region, clock(a.Spec.Duration))
}

func (a DeleteVMs) String() string { return "delete instances " + slurm.Fold(mig.Names(a.Instances)) }

// Queue is the cohort's.
func (a BulkInsert) Queue() string { return a.Spec.Region + "/" + a.Group }

// Queue is one for all: the calls go side by side.
func (a DeleteVMs) Queue() string { return "instances" }

// insert asks for a cohort's nodes on the legacy path.
func (w *world) insert(c *cohort, missing []string) {
	w.add(BulkInsert{Group: c.group, Spec: mig.BulkSpec{
		Region: c.set.Region, Zones: c.set.Zones, Template: w.snap.Templates[c.set.Template].Template,
		Instances: missing, Duration: c.lease, Stamp: c.stamp, Occasion: w.occasion(c, missing),
	}, Why: c.why()})
	w.expect("the instances of " + c.group + " to be made")
}

// occasionAge is for how long an attempt is taken for the same one: longer than
// lists lag, and not so long that machines which are lost could not be had again.
const occasionAge = 10 * time.Minute

// occasion names an attempt to get a job's nodes, so that a process which knows
// nothing of it, for the one that made it has died, makes no second machines.
// It is empty for nodes that no job waits for: nothing tells their attempts apart.
func (w *world) occasion(c *cohort, missing []string) string {
	if c.job == nil || c.job.Start.IsZero() {
		return ""
	}
	failures, _, _, _ := w.failures(c, nil)
	failures = max(failures, ToldFailures(w.snap.Told[c.job.ID])) // another process may know of more
	return fmt.Sprintf("%s of %d for %s, %d failures, %d", c.group, c.job.Start.Unix(), slurm.Fold(missing),
		failures, w.snap.Now.Sub(c.job.Start)/occasionAge)
}
