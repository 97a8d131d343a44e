package demand

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// ceiling is a limit that applies to a job, with the name of its holder.
type ceiling struct {
	*slurm.Allowance
	whose string
	byQOS bool // a QOS sets it
}

// key identifies what a ceiling limits. If a QOS limits the same thing, the association's own limit
// does not count.
func (c ceiling) key() string {
	if c.Limit == "MaxJobs" {
		return "MaxJobsPU " + c.Of
	}
	return c.Limit + " " + c.Of
}

// limits tracks the use of Slurm's limits: what Slurm counts, plus what jobs use that have a door
// or get one in this pass. budgets are the limits on GPU hours and money, with the same jobs. Limits that
// could not be read do not hold back any job.
type limits struct {
	*scene.Scene
	taken   map[*slurm.Allowance]int64
	budgets budgets
}

// limitsOf returns the limits, including the use by jobs that have a door.
func limitsOf(s *scene.Scene) *limits {
	l := &limits{Scene: s, taken: map[*slurm.Allowance]int64{}}
	for _, d := range s.Doors {
		if d.Job != nil && d.Job.State.Waits() && d.Place == 0 && !d.Changed && len(d.Nodes) > 0 {
			l.count(d.Job, s.Config.FlexSetOf(d.Nodes[0]), len(d.Nodes), 1)
		}
	}
	l.budgets = budgetsOf(s, isReserved)
	return l
}

// take counts a job on a number of nodes of the nodeset.
func (l *limits) take(j *slurm.Job, set *config.NodeSet, nodes int) {
	l.count(j, set, nodes, 1)
	l.budgets.take(l.Scene, l.spending(j, set, nodes))
}

// spending returns what a request for the job may take in the nodeset.
func (l *limits) spending(j *slurm.Job, set *config.NodeSet, nodes int) use {
	if there, _ := partitionsWith(l.Scene, j, set); len(there) > 0 {
		taker := *j
		taker.Partition = there[0].Name
		j = &taker
	}
	return use{set: set, job: j, count: float64(nodes), lease: scene.Lease(set.Flex, []*slurm.Job{j})}
}

// count adds what a job takes on a number of nodes of the nodeset, that many times.
func (l *limits) count(j *slurm.Job, set *config.NodeSet, nodes int, times int64) {
	p, needs := l.needs(j, set, nodes)
	for _, c := range l.ceilings(j, p, needs) {
		l.taken[c.Allowance] += times * needs[c.Of]
	}
}

// obstacleElsewhere returns the limit that keeps a job, which counts behind its first door, from
// starting in another nodeset instead; empty if no limit does.
func (l *limits) obstacleElsewhere(j *slurm.Job, first *scene.Door, set *config.NodeSet) string {
	in := l.Config.FlexSetOf(first.Nodes[0])
	l.count(j, in, len(first.Nodes), -1)
	defer l.count(j, in, len(first.Nodes), 1)
	return l.obstacle(j, set)
}

// obstacle returns the limit that keeps the job from starting on nodes of the nodeset now; empty if
// no limit does. If the QOS of the partition and of the job set the same limit, the more generous
// one counts: Slurm uses the partition's limit, unless the job's QOS has the flag OverPartQOS,
// which slurmctld does not show.
func (l *limits) obstacle(j *slurm.Job, set *config.NodeSet) string {
	p, needs := l.needs(j, set, sizeOf(l.Scene, j))
	all := l.ceilings(j, p, needs)
	byQOS, allowed := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		if c.byQOS {
			byQOS[c.key()], allowed[c.key()] = true, allowed[c.key()] || !l.exceeds(c, needs)
		}
	}
	byQOS["MaxJobsPU "+slurm.JobCount] = byQOS["MaxJobsPU "+slurm.JobCount] || byQOS["MaxJobsPA "+slurm.JobCount]
	for _, c := range all {
		counts := !byQOS[c.key()]
		if c.byQOS {
			counts = !allowed[c.key()]
		}
		if counts && l.exceeds(c, needs) {
			return l.text(c, needs)
		}
	}
	return l.overBudget(j, set)
}

// sizeOf returns how many nodes the pending job gets: as many as are behind its door, or as Slurm has planned.
// squeue shows the most of a range (tried on 22.05 and 26.05).
func sizeOf(s *scene.Scene, j *slurm.Job) int {
	if doors := s.DoorsOf(j.ID); len(doors) > 0 && !j.IsTasks() {
		return len(doors[0].Nodes)
	}
	return cmp.Or(len(j.Planned), j.NodeCount)
}

// overBudget returns the limit on GPU hours or money that a request for the job would pass; empty if there
// is none.
func (l *limits) overBudget(j *slurm.Job, set *config.NodeSet) string {
	if l.budgets == nil {
		return ""
	}
	return l.budgets.obstacle(l.Scene, l.spending(j, set, sizeOf(l.Scene, j)))
}

// exceeds reports whether the job needs more than the ceiling leaves.
func (l *limits) exceeds(c ceiling, needs map[string]int64) bool {
	return needs[c.Of] > 0 && l.used(c)+c.takes(needs) > c.Most
}

// takes returns how much of the ceiling the job takes.
func (c ceiling) takes(needs map[string]int64) int64 {
	if c.Limit == slurm.PerNode {
		return needs[c.Of] / max(needs["node"], 1)
	}
	return needs[c.Of]
}

// used returns how much of the ceiling jobs use or are about to use.
func (l *limits) used(c ceiling) int64 {
	if c.IsPerJob() {
		return 0
	}
	return c.Used + l.taken[c.Allowance]
}

// needs returns the amount of each resource that the job takes. All CPUs and GPUs of exclusive
// nodes count, whatever the job requests.
func (l *limits) needs(j *slurm.Job, set *config.NodeSet, nodes int) (slurm.Partition, map[string]int64) {
	needs, minutes := map[string]int64{slurm.JobCount: 1, "node": int64(nodes)}, int64(math.MaxUint32) // Slurm's UNLIMITED
	charge := l.Seen.Allowances.ChargeOf(j)
	if j.Limit.Kind == slurm.LimitSet {
		minutes = int64(cmp.Or(charge.MinTime, j.Limit.Duration) / time.Minute) // backfill shortens the job
	}
	for name, count := range charge.NeedsLicenses() {
		needs["license/"+name] = count
	}
	there, _ := partitionsWith(l.Scene, j, set)
	if len(there) == 0 {
		return slurm.Partition{}, needs
	}
	for name, each := range there[0].PerNode {
		needs[name] = each * int64(nodes)
	}
	for name, count := range maps.Clone(needs) {
		needs[name+slurm.Minutes] = count * minutes
	}
	return there[0], needs
}

// ceilings returns the limits that apply to a job in the partition: of licenses, of QOS, and of its
// association and the accounts above. If a QOS or the association is unknown, it returns only the
// licenses.
func (l *limits) ceilings(j *slurm.Job, p slurm.Partition, needs map[string]int64) (all []ceiling) {
	known, charge := l.Seen.Allowances, l.Seen.Allowances.ChargeOf(j)
	// Minutes of others do not count for a job with a UsageFactor of 0.
	isFree := known.QOS[charge.QOS] != nil && known.QOS[charge.QOS].Uncharged
	add := func(whose string, byQOS bool, allowances []slurm.Allowance, prefix string) {
		for i, a := range allowances {
			if strings.HasPrefix(a.Limit, prefix) && !(isFree && a.Used > 0 && strings.HasSuffix(a.Of, slurm.Minutes)) {
				all = append(all, ceiling{&allowances[i], whose, byQOS})
			}
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(needs)) {
		if name, is := strings.CutPrefix(resource, "license/"); is && known.Licenses[name] != nil {
			all = append(all, ceiling{Allowance: known.Licenses[name]})
		}
	}
	licenses := all
	own := cmp.Or(known.Associations[slurm.AssociationKey{Account: charge.Account, User: j.User, Partition: p.Name}],
		known.Associations[slurm.AssociationKey{Account: charge.Account, User: j.User}])
	for _, name := range slices.Compact([]string{p.QOS, charge.QOS}) {
		switch qos := known.QOS[name]; {
		case own == nil || qos == nil && name != "":
			return licenses
		case qos != nil:
			add("QOS "+name, true, qos.Allowances, "")
			add("account "+charge.Account+" in QOS "+name, true, qos.Accounts[charge.Account], "")
			add("its owner in QOS "+name, true, qos.Users[own.UID], "")
		}
	}
	add("its owner in account "+charge.Account, false, own.Allowances, "")
	for account := own.Parent; account != nil; account = account.Parent {
		// The account's other limits apply to its users.
		add("account "+account.Account, false, account.Allowances, "Grp")
	}
	return all
}

// text describes the ceiling and its use.
func (l *limits) text(c ceiling, needs map[string]int64) string {
	what := amountOf(c.Most, c.Of)
	switch {
	case c.Limit == "Licenses":
		return fmt.Sprintf("%d of %d licenses of %s are in use or requested, and the job needs %d", l.used(c), c.Most, strings.TrimPrefix(c.Of, "license/"), needs[c.Of])
	case c.IsPerJob():
		each := ""
		if c.Limit == slurm.PerNode {
			each = " of each node"
		}
		return fmt.Sprintf("a job of %s may use %s%s (%s), and it needs %d", c.whose, what, each, c.Limit, c.takes(needs))
	case c.Limit == slurm.TotalMinutes:
		return fmt.Sprintf("%s may use %s in total (%s): %d are used or requested, and the job needs %d", c.whose, what, c.Limit, l.used(c), needs[c.Of])
	case c.Of == slurm.JobCount:
		return fmt.Sprintf("%s may run %s at once (%s): %d run or wait for machines", c.whose, what, c.Limit, l.used(c))
	}
	return fmt.Sprintf("%s may use %s at once (%s): %d are in use or requested, and the job needs %d", c.whose, what, c.Limit, l.used(c), needs[c.Of])
}

// amountOf formats an amount of a trackable resource.
func amountOf(n int64, of string) string {
	word := map[string]string{slurm.JobCount: "job", "node": "node", "cpu": "CPU", "gres/gpu": "GPU", "billing": "billing unit", "node minutes": "node minute", "cpu minutes": "CPU minute", "gres/gpu minutes": "GPU minute", "billing minutes": "billing minute"}[of]
	switch {
	case word == "":
		return fmt.Sprintf("%d %s", n, of)
	case n != 1:
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// Overtaken returns the limit that would keep a job with a door from starting there now, because others, or
// other tasks of its array, have used it up since; empty if there is none. Jobs with doors do not count under
// Slurm's limits yet.
func (c *Claim) Overtaken(s *scene.Scene) string {
	if c.Door == nil || c.Job == nil {
		return ""
	}
	why := (&limits{Scene: s}).obstacle(c.Job, c.Set)
	if throttle := s.Throttle(c.Job); throttle > 0 && runningTasks(s)[c.Job.Array()] >= throttle {
		why = ownLimit(throttle)
	}
	if why != "" {
		why += ": until this changes, granted machines are released"
	}
	return why
}

// lateWaits returns the waits of jobs that did not start on their machines, or that slurmctld makes
// no reservation for. A limit that still keeps such a job waiting is its obstacle.
func (h *handout) lateWaits() (held []Wait) {
	for _, j := range h.jobs {
		if !j.State.Waits() || !isLate(h.Scene, j) {
			continue
		}
		late, limit := lateOf(h.Scene, j), ""
		if places := h.places(j); len(places) > 0 {
			limit = h.limits.obstacle(j, places[0])
		}
		wait := Wait{Job: j.ID, Stage: Waiting, Next: late.Until, Barred: true}
		switch {
		case late.Unknown:
			wait.Obstacle = "slurmctld makes no reservation for its user: submit the job as a user whom the controller knows"
		case late.Unusable:
			remedy := "submit the job as a user whom the controller knows, or ask an admin"
			if strings.Contains(late.Refused, "scrontab") {
				remedy, wait.Next = "have the scrontab entry run sbatch", time.Time{}
			}
			wait.Obstacle = fmt.Sprintf("slurmctld does not let it use the nodes that are reserved for it: %s (%s)", remedy, late.Refused)
		case late.Refused != "":
			wait.Obstacle = fmt.Sprintf("slurmctld refuses to reserve nodes for it (%s): ask an admin", late.Refused)
		case limit != "":
			wait.Obstacle, wait.Next = limit, time.Time{}
		default:
			if !slurm.LacksNodes(j.Reason) && !slices.Contains([]string{"None", "Reservation"}, j.Reason) {
				late.Reason, wait.Next = j.Reason, time.Time{} // Slurm does not plan it
			}
			wait.Obstacle = fmt.Sprintf("it did not start within %s after its machines had registered (Slurm reason: %s)", slurm.Clock(lateAfter), late.Reason)
		}
		held = append(held, wait)
	}
	return held
}
