package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// findings collects the problems of a scene.
type findings struct {
	*scene.Scene
	scene.Problems
}

// Problems returns the problems with what the pass saw, and with what it could not read.
func Problems(w *demand.Wanted) scene.Problems {
	f := findings{w.Scene, slices.Clone(w.Problems)}
	f.unseenRegions()
	f.unreadMembers()
	f.unreadAllowances()
	f.unreadSpent()
	f.skewedClock()
	f.blockedSets()
	f.unreadLimits(w.Claims)
	f.failedBoots()
	f.badHosts()
	f.stuck(w.Handed.Held)
	f.withdrawn()
	f.fullSets(w.Handed.Held)
	f.abandonedCovers()
	return f.Problems
}

// MachineProblems returns the problems with existing machines and nodes.
func MachineProblems(s *scene.Scene) scene.Problems {
	f := findings{Scene: s}
	f.lostMachines()
	f.billedOtherwise()
	f.doubles()
	f.outsiders()
	f.unclearNodes()
	f.unconfigured()
	f.unserved()
	return f.Problems
}

// abandonedCovers reports the covers that no daemon extends.
func (f *findings) abandonedCovers() {
	for _, h := range slices.Concat(f.Covers(memo.ColdCover), f.Covers(memo.BusyCover)) {
		if f.Seen.Promises || !h.Abandoned {
			continue
		}
		f.Add("cover-without-daemon", h.Name, "reservation %s keeps jobs from powered-down nodes, and no daemon has kept it up since %s: start the daemon; without it Slurm deletes the reservation, and jobs wait CONFIGURING again",
			h.Name, h.AbandonedAt.UTC().Format("15:04:05"))
	}
}

func (f *findings) unseenRegions() {
	for _, region := range slices.Sorted(maps.Keys(f.Seen.Unseen)) {
		f.Add("unseen-region", region, "region %s could not be read, and nothing is done in it: %v", region, f.Seen.Unseen[region])
	}
}

// unreadMembers reports the groups with hidden members that could not be read.
func (f *findings) unreadMembers() {
	for _, key := range slices.SortedFunc(maps.Keys(f.Seen.Members), mig.GroupID.Compare) {
		of := f.Group(key)
		if err := f.Seen.Members[key].Err; err != nil && (of.Usable == nil || of.MayHold) {
			f.Add("unread-members", key.String(), "group %s counts machines that Compute does not list, and is left alone until its members can be listed: %v", key, err)
		}
	}
}

// skewedClock reports a clock that differs from Compute's.
func (f *findings) skewedClock() {
	how, effect := "ahead of", "; timeouts do not apply until it is correct"
	switch {
	case f.Seen.Skew.Abs() <= scene.MaxSkew:
		return
	case f.Seen.Skew < 0:
		how, effect = "behind", ""
	}
	f.Add("clock-skew", "", "the clock of this host is %s %s Compute's%s: synchronize it (chronyc tracking; chronyc makestep)",
		scene.Roughly(f.Seen.Skew.Abs()), how, effect)
}

func (f *findings) blockedSets() {
	for _, set := range f.Config.FlexSets() {
		if b := f.Sets[set].Block; b != nil {
			f.Add("nodeset-blocked", set.Name, "%s; to unblock it: slurmflex unblock %s", b.Text(set.Name), set.Name)
		}
	}
}

// unreadAllowances reports that Slurm's limits could not be read.
func (f *findings) unreadAllowances() {
	if err := f.Seen.AllowancesErr; err != nil {
		f.Add("unread-limits", "", "the limits of accounts, QOS and licenses could not be read, and machines may be requested for jobs that a limit holds back: %v", err)
	}
}

// unreadSpent reports that the history is not kept, or cannot be read.
func (f *findings) unreadSpent() {
	effect := "cost, estimate and why lack what happens until this is fixed"
	if len(f.Config.Options.Limits) > 0 {
		effect = "the limits on GPU hours and cost hold back no job until this is fixed"
	}
	if err := f.Seen.Spent.Err; err != nil {
		f.Add("unread-history", "", "%s: %v", effect, err)
	}
}

// unreadLimits reports the jobs with an unreadable time limit that determines a claim's lease.
func (f *findings) unreadLimits(claims []*demand.Claim) {
	for _, c := range claims {
		if !c.Set.Flex.UseJobDuration {
			continue
		}
		for _, j := range c.Holders {
			if j.Limit.Kind == slurm.LimitUnknown {
				f.Add("time-limit", j.Name(), "%s: the time limit of job %s is not understood, and its lease is %s; set it again: scontrol update jobid=%[2]s timelimit=TIME",
					c.Group, j.Name(), slurm.Clock(c.Lease))
			}
		}
	}
}

// failedBoots reports the nodes with instances that did not boot in time or failed their health check.
func (f *findings) failedBoots() {
	for _, set := range f.Config.FlexSets() {
		if late := f.Sets[set].Late; len(late) > 0 {
			f.Add("boot-timeout", set.Name, "%s: %s", slurm.Fold(late), rules.BootText(set))
		}
	}
	for _, m := range f.Nodes {
		if m.Unhealthy != "" {
			f.Add("health-check", m.Name, "%s", rules.HealthText(m.Name, m.Unhealthy))
		}
	}
}

// badHosts reports the machines on the hosts of machines that failed their health check.
func (f *findings) badHosts() {
	for _, in := range f.Machines {
		if earlier, bad := f.IsOnBadHost(in); bad {
			f.Add("bad-host", in.Name, "instance %s is on host %s again: %s at %s",
				in.Name, in.Host, rules.HealthText(earlier.Node, earlier.Why), earlier.At.UTC().Format(time.RFC3339))
		}
	}
}

func (f *findings) lostMachines() {
	for _, l := range f.Losses {
		f.Add("machine-lost", slurm.Fold(l.Nodes), "%s; it was in use by job %d", l, l.Jobs[0])
	}
}

// billedOtherwise reports our instances with a provisioning model other than their nodeset's,
// whatever their template contains.
func (f *findings) billedOtherwise() {
	for _, in := range f.Machines { // sorted by name
		if in.Node == nil || !in.Ours || in.Leaving() || in.Unread != "" {
			continue
		}
		if set := in.Node.Set; in.Model != set.Flex.Capacity.Model() {
			f.Add("not-flex-start", in.Name, "instance %s is %s, not %s, and billed otherwise: correct instance template %s and delete it, unless the nodeset's capacity was changed",
				in.Name, in.Model, set.Flex.Capacity.Model(), set.Template)
		}
	}
}

// outsiders reports the instances that their group denies, and those that slurmflex does not know as its own
// and that run under the names of powered-down nodes.
func (f *findings) outsiders() {
	for _, in := range f.Machines {
		switch {
		case in.Leaving() && !in.Stopped():
		case in.Outsider:
			f.Problems = append(f.Problems, in.OutsiderProblem())
		case in.Node != nil && in.Node.Power == scene.Off && in.Group == "" && !in.Belongs && !in.Node.MayShow && f.IsOld(in.Created, scene.OrphanedAfter):
			f.Add("no-stamp", in.Name, "instance %s in %s has the name of a node that is powered down, and stays, because it lacks slurmflex's labels: "+
				"delete it when it is not needed (gcloud compute instances delete %[1]s --zone %[2]s)", in.Name, in.Zone)
		}
	}
}

// doubles reports the nodes that have several machines. A name is unique only within a zone. All
// machines of a node but one are billed for nothing.
func (f *findings) doubles() {
	for _, m := range f.Nodes {
		var zones []string
		for _, in := range m.Machines {
			if !in.Leaving() {
				zones = append(zones, in.Zone)
			}
		}
		if len(zones) > 1 {
			f.Add("several-machines", m.Name, "node %s has a machine in each of the zones %s; see which one Slurm uses (scontrol getaddrs %[1]s) and delete the others",
				m.Name, strings.Join(zones, ", "))
		}
	}
}

// unclearNodes reports the nodes that slurmflex leaves alone because their state is unknown.
func (f *findings) unclearNodes() {
	for _, m := range f.Nodes {
		if m.Power == scene.Unclear && !f.IsSkipped(slurm.NodeRow, m.Name) {
			f.Add("state-unknown", m.Name, "node %s is left alone: state %s is not understood", m.Name, m.State)
		}
	}
}

// unconfigured reports the nodes that Slurm powers up and no nodeset has: a nodeset was removed or made
// smaller, or the configuration is another cluster's.
func (f *findings) unconfigured() {
	var names []string
	for _, n := range f.Seen.Nodes {
		if _, _, known := f.Config.Find(n.Name); !known && n.State.Has(slurm.Cloud) {
			names = append(names, n.Name)
		}
	}
	if list := slurm.Fold(names); list != "" {
		f.Add("node-not-configured", list, "slurm.conf has %s and the configuration lacks them: slurmflex requests no machines there, keeps those that exist until their job has ended, and watches no lease; correct the nodesets or slurm_cluster_name, or remove the nodes from slurm.conf", list)
	}
}

// unserved reports configured nodes that slurmflex does nothing for, although their machines run or
// are requested without a job. Either Slurm does not have the nodes, or slurmflex no longer manages
// their nodeset.
func (f *findings) unserved() {
	paid := map[*config.NodeSet][]string{}
	note := func(name string, since time.Time) {
		set, _, known := f.Config.Find(name)
		if known && (set.Flex == nil || f.Named(name).Node == nil) && len(f.Named(name).Holders) == 0 && f.IsOld(since, scene.OrphanedAfter) {
			paid[set] = append(paid[set], name)
		}
	}
	for _, in := range f.Machines {
		if in.Ours && !in.Leaving() && in.Unread == "" {
			note(in.Name, in.Created)
		}
	}
	for _, r := range f.Live {
		for _, name := range r.Request.Instances {
			note(name, r.Request.Created)
		}
	}
	for _, set := range f.Config.NodeSets {
		nodes := slurm.Fold(slices.Compact(slices.Sorted(slices.Values(paid[set]))))
		switch {
		case nodes == "":
		case set.Flex == nil:
			f.Add("nodeset-not-ours", set.Name, "machines of %s run or are requested for no job, and nodeset %s has neither dws_flex nor capacity any more: delete the machines and requests, or give the nodeset its keys back",
				nodes, set.Name)
		default:
			f.Add("node-not-in-slurm", set.Name, "machines of %s run or are requested for no job, and Slurm does not have these nodes: give slurm.conf the nodes of nodeset %s (slurmflex config slurm-conf), or delete the machines and requests",
				nodes, set.Name)
		}
	}
}

// stuck reports the jobs that wait without a request and without a reason.
func (f *findings) stuck(held []demand.Wait) {
	for _, w := range held {
		if w.IsStuck(f.Seen.Now) {
			f.Add("job-stuck", f.Jobs[w.Job].Name(), "job %s has lacked only nodes of %s for %s, and no machines are requested for it (%s): if sdiag shows a last depth cycle below the last queue length, backfill does not reach it: set bf_max_job_part=100 in SchedulerParameters; backfill plans no job of a QOS with NoReserve or MinPrioThreshold",
				f.Jobs[w.Job].Name(), w.NodeSet, scene.Roughly(f.Seen.Now.Sub(w.Since)), w.Obstacle)
		}
	}
}

// fullSets reports the nodesets with too few nodes: a job lacks nodes there, while a less important job
// waits for machines of some, which the job could use, too. Google's queue has no such limit.
func (f *findings) fullSets(held []demand.Wait) {
	open, behind, reported := map[string]int{}, map[string]*scene.Door{}, map[string]bool{}
	for _, m := range f.Nodes {
		switch d := m.Door; {
		case m.IsOpenToPlans(), m.IsUnread: // a node that is unread may have become free
			open[m.Set.Name]++
		case d == nil || d.Job == nil || !d.Job.State.Waits() || d.Job.Priority == 0 || f.AnyPresent(d.Nodes):
		case behind[m.Set.Name] == nil || d.Job.Priority < behind[m.Set.Name].Job.Priority:
			behind[m.Set.Name] = d
		}
	}
	for _, w := range held {
		j, less := f.Jobs[w.Job], behind[w.NodeSet]
		if w.Barred || less == nil || j.Priority <= less.Job.Priority || open[w.NodeSet] >= j.NodeCount || reported[w.NodeSet] {
			continue
		}
		if !f.AnyNode(less.Nodes, func(m *scene.Node) bool { return !demand.IsForOthers(f.Scene, m, j) }) {
			continue
		}
		reported[w.NodeSet] = true
		f.Add("nodeset-full", w.NodeSet, "nodeset %s has too few nodes: job %s has no request, and less important job %s waits at Google: raise node_count_dynamic_max, or cancel one of them",
			w.NodeSet, j.Name(), less.Job.Name())
	}
}

// withdrawnFrom names the nodes that an admin has withdrawn from a job that waits at Google; empty if none.
func withdrawnFrom(s *scene.Scene, d *scene.Door) string {
	if d == nil || len(demand.Withdrawn(s, d)) == 0 {
		return ""
	}
	return slurm.Fold(demand.Withdrawn(s, d)) + " cannot be used now: unless that changes before the machines exist, the job waits again"
}

// withdrawn reports the nodes that an admin has withdrawn while jobs wait for them at Google.
func (f *findings) withdrawn() {
	for _, d := range f.Doors {
		if names := slurm.Fold(demand.Withdrawn(f.Scene, d)); names != "" {
			f.Add("node-withdrawn", d.Address, "job %s waits at Google for machines of %s, which cannot be used now (drained, DOWN or reserved): before the machines exist, run scontrol update nodename=%[2]s state=resume, or delete the admin's reservation; otherwise the job waits again", d.Address, names)
		}
	}
}
