package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// ceiling is a limit that a job counts for, and whose it is.
type ceiling struct {
	*slurm.Allowance
	whose string
	byQOS bool // a QOS sets it
}

// key names what a ceiling limits. Where a QOS limits that, the association's own limit does not count.
func (c ceiling) key() string {
	if c.Limit == "MaxJobs" {
		return "MaxJobsPU " + c.Of
	}
	return c.Limit + " " + c.Of
}

// limits counts what jobs have of Slurm's limits: what Slurm counts, and what the jobs take that have a
// door or get one in this pass. What could not be read limits nothing.
type limits struct {
	s     *scene.Scene
	taken map[*slurm.Allowance]int64

	associations map[[3]string]*slurm.Association // by account, user and partition
	accounts     map[uint32]*slurm.Association
	qos          map[string]*slurm.QOS
	licenses     map[string]*slurm.Allowance
}

// limitsOf returns the limits with what jobs that have a door take of them.
func limitsOf(s *scene.Scene) *limits {
	l := &limits{
		s: s, taken: map[*slurm.Allowance]int64{}, associations: map[[3]string]*slurm.Association{}, accounts: map[uint32]*slurm.Association{},
		qos: map[string]*slurm.QOS{}, licenses: map[string]*slurm.Allowance{},
	}
	for i := range s.Seen.Allowances.Associations {
		a := &s.Seen.Allowances.Associations[i]
		l.associations[[3]string{a.Account, a.User, a.Partition}], l.accounts[a.ID] = a, a
	}
	for name, qos := range s.Seen.Allowances.QOS {
		l.qos[name] = &qos
	}
	for name, license := range s.Seen.Allowances.Licenses {
		l.licenses[name] = &license
	}
	for _, d := range s.Doors() {
		if d.Job != nil && d.Job.State.Waits() && d.Job.HetID == 0 && d.Place == 0 && len(d.Nodes) > 0 {
			l.take(d.Job, s.Config.FlexSetOf(d.Nodes[0]), d.Job.NodeCount)
		}
	}
	return l
}

// take counts a job on so many nodes of the nodeset.
func (l *limits) take(j *slurm.Job, set *config.NodeSet, nodes int) {
	p, needs := l.needs(j, set, nodes)
	for _, c := range l.ceilings(j, p, needs) {
		l.taken[c.Allowance] += needs[c.Of]
	}
}

// obstacle says which limit keeps the job from starting on nodes of the nodeset now; empty if none does.
// If the partition and the job have QOS with the same limit, it counts as the more generous one: Slurm
// takes that of the partition, unless the job's QOS has the flag OverPartQOS, which slurmctld does not
// show.
func (l *limits) obstacle(j *slurm.Job, set *config.NodeSet) string {
	p, needs := l.needs(j, set, j.NodeCount)
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
	return ""
}

// exceeds reports whether the ceiling leaves too little for what a job needs.
func (l *limits) exceeds(c ceiling, needs map[string]int64) bool {
	return needs[c.Of] > 0 && l.used(c)+needs[c.Of] > c.Most
}

// used returns what jobs have of the ceiling, or are about to have.
func (l *limits) used(c ceiling) int64 {
	if c.Limit == slurm.PerJob {
		return 0
	}
	return c.Used + l.taken[c.Allowance]
}

// needs returns what the job takes of each resource. All CPUs and GPUs of exclusive nodes count,
// whatever the job asks for.
func (l *limits) needs(j *slurm.Job, set *config.NodeSet, nodes int) (slurm.Partition, map[string]int64) {
	needs := map[string]int64{slurm.JobCount: 1, "node": int64(nodes)}
	charge, _ := l.s.Seen.Allowances.ChargeOf(j)
	for name, count := range charge.NeedsLicenses() {
		needs["license/"+name] = count
	}
	at := slices.IndexFunc(l.s.Seen.Partitions, func(p slurm.Partition) bool {
		known, ours := l.s.Config.Partition(p.Name)
		return ours && set != nil && slices.Contains(known.NodeSets, set.Name) && slices.Contains(partitionsOf(j), p.Name)
	})
	if at < 0 {
		return slurm.Partition{}, needs
	}
	p := l.s.Seen.Partitions[at]
	for name, each := range p.PerNode {
		needs[name] = each * int64(nodes)
	}
	return p, needs
}

// ceilings returns the limits that a job in the partition counts for: of QOS, then of its association
// and the accounts above, then of licenses. Without one of these records only licenses limit it.
func (l *limits) ceilings(j *slurm.Job, p slurm.Partition, needs map[string]int64) (all []ceiling) {
	charge, _ := l.s.Seen.Allowances.ChargeOf(j)
	add := func(whose string, byQOS bool, allowances []slurm.Allowance, prefix string) {
		for i := range allowances {
			if strings.HasPrefix(allowances[i].Limit, prefix) {
				all = append(all, ceiling{&allowances[i], whose, byQOS})
			}
		}
	}
	account, own := l.associations[[3]string{charge.Account}], l.associations[[3]string{charge.Account, j.User, p.Name}]
	if own == nil {
		own = l.associations[[3]string{charge.Account, j.User}]
	}
	known := own != nil && account != nil
	for _, name := range slices.Compact([]string{p.QOS, charge.QOS}) {
		qos := l.qos[name]
		known = known && (qos != nil || name == "")
		if known && qos != nil {
			add("QOS "+name, true, qos.Allowances, "")
			add("account "+charge.Account+" in QOS "+name, true, qos.Accounts[charge.Account], "")
			add("its owner in QOS "+name, true, qos.Users[own.UID], "")
		}
	}
	if known {
		add("its owner in account "+charge.Account, false, own.Allowances, "")
	} else {
		all = nil
	}
	for range l.accounts { // at most: no account is above itself
		if known && account != nil {
			add("account "+account.Account, false, account.Allowances, "Grp") // its other limits are those of its users
			account = l.accounts[account.Parent]
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(needs)) {
		if license := l.licenses[strings.TrimPrefix(resource, "license/")]; license != nil && license.Of == resource {
			all = append(all, ceiling{Allowance: license, whose: "jobs"})
		}
	}
	return all
}

// text says what the ceiling is, and what is left of it.
func (l *limits) text(c ceiling, needs map[string]int64) string {
	what := amountOf(c.Most, c.Of)
	switch {
	case c.Limit == "Licenses":
		return fmt.Sprintf("%d of %d licenses of %s are in use or requested, and the job needs %d", l.used(c), c.Most, strings.TrimPrefix(c.Of, "license/"), needs[c.Of])
	case c.Limit == slurm.PerJob:
		return fmt.Sprintf("a job of %s may use %s (%s), and it needs %d", c.whose, what, c.Limit, needs[c.Of])
	case c.Of == slurm.JobCount:
		return fmt.Sprintf("%s may run %s at once (%s): %d run or wait for machines", c.whose, what, c.Limit, l.used(c))
	}
	return fmt.Sprintf("%s may use %s at once (%s): %d are in use or requested, and the job needs %d", c.whose, what, c.Limit, l.used(c), needs[c.Of])
}

// amountOf names an amount of a trackable resource.
func amountOf(n int64, of string) string {
	word := map[string]string{slurm.JobCount: "job", "node": "node", "cpu": "CPU", "gres/gpu": "GPU"}[of]
	switch {
	case word == "":
		return fmt.Sprintf("%d %s", n, of)
	case n != 1:
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// heldBack is the wait of a job for which no machines are requested, because of a limit.
func heldBack(j *slurm.Job, set *config.NodeSet, why string) Wait {
	return Wait{Job: j.ID, NodeSet: set.Name, Region: set.Region, Stage: Waiting, Obstacle: why}
}

// mayBeLimited reports whether a limit may keep the job pending, as far as Slurm says. Slurm shows the
// limit, and from time to time None in its place.
func mayBeLimited(j slurm.Job) bool {
	return j.State == slurm.JobPending && j.Priority > 0 && j.Reservation == "" && j.NodeCount > 0 && slurm.MayBeLimited(j.Reason)
}

// NeedsLimits reports whether Slurm's limits are needed to plan for the job.
func NeedsLimits(j slurm.Job) bool { return LacksNodes(j) || mayBeLimited(j) }

// shown is the wait of a job for which Slurm shows a limit, or nothing. set is nil if Slurm does not
// keep the job from nodes of ours.
func (l *limits) shown(j *slurm.Job, set *config.NodeSet) []Wait {
	if set == nil || !mayBeLimited(*j) || l.s.Seen.Late[j.ID].Until.After(l.s.Seen.Now) {
		return nil
	}
	if why := l.obstacle(j, set); why != "" {
		return []Wait{heldBack(j, set, why)}
	}
	return nil
}

// lateWaits says why no machines are requested for the jobs that did not start on those that they had.
func lateWaits(s *scene.Scene) (held []Wait) {
	for i := range s.Seen.Jobs {
		j := &s.Seen.Jobs[i]
		if late := s.Seen.Late[j.ID]; j.State.Waits() && late.Until.After(s.Seen.Now) {
			held = append(held, Wait{Job: j.ID, Stage: Waiting, Next: late.Until,
				Obstacle: fmt.Sprintf("it did not start in %s on the machines that had come for it (Slurm reason: %s)", clock(lateAfter), late.Reason)})
		}
	}
	return held
}

// unreadAllowances says that Slurm's limits could not be read.
func unreadAllowances(s *scene.Scene) []scene.Problem {
	if s.Seen.AllowancesErr == nil {
		return nil
	}
	return []scene.Problem{scene.NewProblem("unread-limits", "", "the limits of accounts, QOS and licenses could not be read, and machines may be requested for jobs that a limit holds back: %v", s.Seen.AllowancesErr)}
}
