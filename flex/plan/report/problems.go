package report

import (
	"cmp"
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

// Problems returns the problems with what the pass saw, and with what it could not read.
func Problems(w *demand.Wanted) []scene.Problem {
	return slices.Concat(w.Problems(), unseenRegions(w.Scene), unreadMembers(w.Scene), demand.UnreadAllowances(w.Scene), unreadSpent(w.Scene), skewedClock(w.Scene), blockedSets(w.Scene), unreadLimits(w),
		failedBoots(w.Scene), badHosts(w.Scene), stuck(w.Scene, w.Handed.Held), withdrawn(w.Scene), fullSets(w.Scene, w.Handed.Held), abandonedCovers(w.Scene))
}

// MachineProblems returns the problems with existing machines and nodes.
func MachineProblems(s *scene.Scene, losses []scene.Loss) []scene.Problem {
	return slices.Concat(lostMachines(losses), billedOtherwise(s), doubles(s), outsiders(s), unclearNodes(s), unconfigured(s), unserved(s))
}

// abandonedCovers reports the covers that no daemon extends.
func abandonedCovers(s *scene.Scene) (ps []scene.Problem) {
	for _, h := range slices.Concat(s.Covers(memo.ColdCover), s.Covers(memo.BusyCover)) {
		if s.Seen.Promises || !scene.IsAbandoned(s, h) {
			continue
		}
		ps = append(ps, scene.NewProblem("cover-without-daemon", h.Name, "reservation %s keeps jobs from powered-down nodes, and no daemon has kept it up since %s: start the daemon; without it Slurm deletes the reservation, and jobs wait CONFIGURING again",
			h.Name, scene.RaisedAt(h).UTC().Format("15:04:05")))
	}
	return ps
}

func unseenRegions(s *scene.Scene) (ps []scene.Problem) {
	for _, region := range slices.Sorted(maps.Keys(s.Seen.Unseen)) {
		ps = append(ps, scene.NewProblem("unseen-region", region, "region %s could not be read, and nothing is done in it: %v", region, s.Seen.Unseen[region]))
	}
	return ps
}

// unreadMembers reports the groups with hidden members that could not be read.
func unreadMembers(s *scene.Scene) (ps []scene.Problem) {
	for _, key := range slices.SortedFunc(maps.Keys(s.Seen.Members), mig.GroupID.Compare) {
		g := s.Group(key)
		if err := s.Seen.Members[key].Err; err != nil && (g == nil || s.MayHold(g)) {
			ps = append(ps, scene.NewProblem("unread-members", key.String(), "group %s counts machines that Compute does not list, and is left alone until its members can be listed: %v", key, err))
		}
	}
	return ps
}

// skewedClock reports a clock that differs from Compute's.
func skewedClock(s *scene.Scene) []scene.Problem {
	how, effect := "ahead of", "; timeouts do not apply until it is correct"
	switch {
	case s.Seen.Skew.Abs() <= scene.MaxSkew:
		return nil
	case s.Seen.Skew < 0:
		how, effect = "behind", ""
	}
	return []scene.Problem{scene.NewProblem("clock-skew", "", "the clock of this host is %s %s Compute's%s: synchronize it (chronyc tracking; chronyc makestep)",
		scene.Roughly(s.Seen.Skew.Abs()), how, effect)}
}

func blockedSets(s *scene.Scene) (ps []scene.Problem) {
	for _, b := range s.Blocks() {
		ps = append(ps, scene.NewProblem("nodeset-blocked", b.NodeSet, "%s; to unblock it: slurmflex unblock %s", b, b.NodeSet))
	}
	return ps
}

// unreadSpent reports that limits hold back no job.
func unreadSpent(s *scene.Scene) (ps []scene.Problem) {
	if err := s.Seen.Spent.Err; err != nil {
		ps = append(ps, scene.NewProblem("limits-unread", "", "the limits on GPU hours and cost hold back no job until this is fixed: %v", err))
	}
	return ps
}

// unreadLimits reports the jobs with an unreadable time limit that determines a claim's lease.
func unreadLimits(w *demand.Wanted) (ps []scene.Problem) {
	for _, c := range w.Claims {
		if !c.Set.Flex.UseJobDuration {
			continue
		}
		for _, j := range c.Holders {
			if j.Limit.Kind == slurm.LimitUnknown {
				ps = append(ps, scene.NewProblem("time-limit", j.Name(), "%s: the time limit of job %s is not understood, and its lease is %s; set it again: scontrol update jobid=%[2]s timelimit=TIME",
					c.Group, j.Name(), slurm.Clock(c.Lease)))
			}
		}
	}
	return ps
}

// failedBoots reports the nodes with instances that did not boot in time or failed their health check.
func failedBoots(s *scene.Scene) (ps []scene.Problem) {
	for _, set := range s.Config.NodeSets {
		b := s.Boots(set)
		if b == nil {
			continue
		}
		if len(b.Late) > 0 {
			ps = append(ps, scene.NewProblem("boot-timeout", set.Name, "%s: %s", slurm.Fold(b.Late), rules.BootText(set)))
		}
		for _, name := range slices.Sorted(maps.Keys(b.Unhealthy)) {
			ps = append(ps, scene.NewProblem("health-check", name, "%s", rules.HealthText(name, b.Unhealthy[name])))
		}
	}
	return ps
}

// badHosts reports the machines on the hosts of machines that failed their health check.
func badHosts(s *scene.Scene) (ps []scene.Problem) {
	for _, in := range s.Machines() {
		if earlier, bad := s.IsOnBadHost(in); bad {
			ps = append(ps, scene.NewProblem("bad-host", in.Name, "instance %s is on host %s again: %s at %s",
				in.Name, in.Host, rules.HealthText(earlier.Node, earlier.Why), earlier.At.UTC().Format(time.RFC3339)))
		}
	}
	return ps
}

func lostMachines(losses []scene.Loss) (ps []scene.Problem) {
	for _, l := range losses {
		ps = append(ps, scene.NewProblem("machine-lost", slurm.Fold(l.Nodes), "%s; it was in use by job %d", l, l.Jobs[0]))
	}
	return ps
}

// billedOtherwise reports our instances with a provisioning model other than their nodeset's,
// whatever their template contains.
func billedOtherwise(s *scene.Scene) (ps []scene.Problem) {
	for _, in := range s.Machines() { // sorted by name
		if in.Node == nil || !s.Ours(in) || in.Leaving() || in.Unread != "" {
			continue
		}
		if set := in.Node.Set; in.Model != set.Flex.Capacity.Model() {
			ps = append(ps, scene.NewProblem("not-flex-start", in.Name, "instance %s is %s, not %s, and billed otherwise: correct instance template %s and delete it",
				in.Name, in.Model, set.Flex.Capacity.Model(), set.Template))
		}
	}
	return ps
}

// outsiders reports the instances that their group denies.
func outsiders(s *scene.Scene) (ps []scene.Problem) {
	for _, in := range s.Machines() {
		if (!in.Leaving() || in.Stopped()) && s.IsOutsider(*in.Instance) {
			ps = append(ps, scene.Outsider(*in.Instance))
		}
	}
	return ps
}

// doubles reports the nodes that have several machines. A name is unique only within a zone. All
// machines of a node but one are billed for nothing.
func doubles(s *scene.Scene) (ps []scene.Problem) {
	for _, m := range s.Nodes() {
		var zones []string
		for _, in := range m.Machines {
			if !in.Leaving() {
				zones = append(zones, in.Zone)
			}
		}
		if len(zones) > 1 {
			ps = append(ps, scene.NewProblem("several-machines", m.Name, "node %s has a machine in each of the zones %s; see which one Slurm uses (scontrol getaddrs %[1]s) and delete the others",
				m.Name, strings.Join(zones, ", ")))
		}
	}
	return ps
}

// unclearNodes reports the nodes that slurmflex leaves alone because their state is unknown.
func unclearNodes(s *scene.Scene) (ps []scene.Problem) {
	for _, m := range s.Nodes() {
		if m.Power == scene.Unclear && !rules.IsSkipped(s, slurm.NodeRow, m.Name) {
			ps = append(ps, scene.NewProblem("state-unknown", m.Name, "node %s is left alone: state %s is not understood", m.Name, m.State))
		}
	}
	return ps
}

// unconfigured reports our machines that jobs use and that are no longer configured, because a
// nodeset was made smaller. It groups them by job, because a job may have many.
func unconfigured(s *scene.Scene) (ps []scene.Problem) {
	nodes, names := map[uint32][]string{}, map[uint32]string{}
	for _, in := range s.Machines() {
		_, _, known := s.Config.Find(in.Name)
		if holders := s.HoldersOf(in.Name); !known && s.Ours(in) && !in.Leaving() && len(holders) > 0 {
			job := slices.MinFunc(holders, func(a, b *slurm.Job) int { return cmp.Compare(a.ID, b.ID) }) // whatever the order of the queue
			nodes[job.ID], names[job.ID] = append(nodes[job.ID], in.Name), job.Name()
		}
	}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		list := slurm.Fold(nodes[id])
		ps = append(ps, scene.NewProblem("node-not-configured", list, "job %s uses %s, which the configuration no longer has: slurmflex keeps its machines until the job has ended, but watches no lease there; restore the size of the nodeset until then",
			names[id], list))
	}
	return ps
}

// unserved reports configured nodes that slurmflex does nothing for, although their machines run or
// are requested without a job. Either Slurm does not have the nodes, or slurmflex no longer manages
// their nodeset.
func unserved(s *scene.Scene) (ps []scene.Problem) {
	paid := map[*config.NodeSet][]string{}
	note := func(name string, since time.Time) {
		set, _, known := s.Config.Find(name)
		if known && (set.Flex == nil || s.Shown(name) == nil) && len(s.HoldersOf(name)) == 0 && s.IsOld(since, scene.OrphanedAfter) {
			paid[set] = append(paid[set], name)
		}
	}
	for _, in := range s.Machines() {
		if s.Ours(in) && !in.Leaving() && in.Unread == "" {
			note(in.Name, in.Created)
		}
	}
	for _, r := range s.LiveRequests() {
		for _, name := range r.Request.Instances {
			note(name, r.Request.Created)
		}
	}
	for _, set := range s.Config.NodeSets {
		nodes := slurm.Fold(slices.Compact(slices.Sorted(slices.Values(paid[set]))))
		switch {
		case nodes == "":
		case set.Flex == nil:
			ps = append(ps, scene.NewProblem("nodeset-not-ours", set.Name, "machines of %s run or are requested for no job, and nodeset %s has neither dws_flex nor capacity any more: delete the machines and requests, or give the nodeset its keys back",
				nodes, set.Name))
		default:
			ps = append(ps, scene.NewProblem("node-not-in-slurm", set.Name, "machines of %s run or are requested for no job, and Slurm does not have these nodes: give slurm.conf the nodes of nodeset %s (slurmflex config slurm-conf), or delete the machines and requests",
				nodes, set.Name))
		}
	}
	return ps
}

// stuck reports the jobs that wait without a request and without a reason.
func stuck(s *scene.Scene, held []demand.Wait) (ps []scene.Problem) {
	for _, w := range held {
		if w.IsStuck(s.Seen.Now) {
			ps = append(ps, scene.NewProblem("job-stuck", s.Job(w.Job).Name(), "job %s has lacked only nodes of %s for %s, and no machines are requested for it (%s): if sdiag shows a last depth cycle below the last queue length, backfill does not reach it: set bf_max_job_part=100 in SchedulerParameters; backfill plans no job of a QOS with NoReserve or MinPrioThreshold",
				s.Job(w.Job).Name(), w.NodeSet, scene.Roughly(s.Seen.Now.Sub(w.Since)), w.Obstacle))
		}
	}
	return ps
}

// fullSets reports the nodesets with too few nodes: a job lacks nodes there, while a less important job
// waits for machines of some. Google's queue has no such limit.
func fullSets(s *scene.Scene, held []demand.Wait) (ps []scene.Problem) {
	open, behind, reported := map[string]int{}, map[string]*slurm.Job{}, map[string]bool{}
	for _, m := range s.Nodes() {
		switch d := m.Door; {
		case demand.IsOpenToPlans(s, m):
			open[m.Set.Name]++
		case d == nil || d.Job == nil || !d.Job.State.Waits() || demand.AnyPresent(s, d.Nodes):
		case behind[m.Set.Name] == nil || d.Job.Priority < behind[m.Set.Name].Priority:
			behind[m.Set.Name] = d.Job
		}
	}
	for _, w := range held {
		j, less := s.Job(w.Job), behind[w.NodeSet]
		if w.Barred || less == nil || j.Priority <= less.Priority || open[w.NodeSet] >= j.NodeCount || reported[w.NodeSet] {
			continue
		}
		reported[w.NodeSet] = true
		ps = append(ps, scene.NewProblem("nodeset-full", w.NodeSet, "nodeset %s has too few nodes: job %s has no request, and less important job %s waits at Google: raise node_count_dynamic_max, or cancel one of them",
			w.NodeSet, j.Name(), less.Name()))
	}
	return ps
}

// withdrawnFrom names the nodes that an admin has withdrawn from a job that waits at Google; empty if none.
func withdrawnFrom(s *scene.Scene, d *scene.Door) string {
	if d == nil || len(demand.Withdrawn(s, d)) == 0 {
		return ""
	}
	return slurm.Fold(demand.Withdrawn(s, d)) + " cannot be used now: unless an admin resumes it before the machines exist, the job waits again"
}

// withdrawn reports the nodes that an admin has withdrawn while jobs wait for them at Google.
func withdrawn(s *scene.Scene) (ps []scene.Problem) {
	for _, d := range s.Doors() {
		if names := slurm.Fold(demand.Withdrawn(s, d)); names != "" {
			ps = append(ps, scene.NewProblem("node-withdrawn", d.Address, "job %s waits at Google for machines of %s, which cannot be used now: it keeps its place until they exist, so resume them before (scontrol update nodename=%[2]s state=resume)", d.Address, names))
		}
	}
	return ps
}
