package rules

import (
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// giveUp ends a claim's wait. It returns all nodes of the job that still lack a machine, because
// Slurm could place another job on a remaining node without calling slurmflex. A static node keeps
// waiting, because nothing would request it again. If Slurm would end the job, or another job that
// holds the nodes, giveUp only adds a note and the jobs keep their nodes.
func giveUp(w *demand.Wanted, c *demand.Claim, then action.Then, hopeless bool, key, reason string) Ruling {
	v := Ruling{Why: reason}
	v.Problems.Add(key, c.Group, "%s: %s", c.Group, reason)
	switch {
	case c.Job == nil && isStatic(w.Scene, c):
		v.Do = Waits
	case c.Job == nil:
		v.Do = PowersDown
	default:
		nodes := takeable(w.Scene, c.Job, hopeless && then != action.Cancel)
		v.Do, v.Quiet = Noted, true
		if len(nodes) > 0 || then == action.Cancel {
			v.returnNodes(w, c, hopeless, action.ReturnNodes{Nodes: nodes, Reason: reason, Then: then})
		}
	}
	return v
}

// returnNodes returns nodes of the claim's job to Slurm, unless Slurm would end one of the nodes'
// jobs instead of requeueing it: then only a cancellation is carried out. If no attempt can help
// the job, its owner is notified of the reason for the wait.
func (v *Ruling) returnNodes(w *demand.Wanted, c *demand.Claim, hopeless bool, a action.ReturnNodes) {
	job := c.Job
	holders := holdersOf(w.Scene, a.Nodes)
	if !slices.Contains(holders, job) {
		holders = append(holders, job)
	}
	if a.Then != action.Cancel && w.WouldEnd(holders) {
		v.Quiet = !hopeless
		return
	}
	a.OfJob, a.Name = action.OfJob{Job: job.ID}, job.Name()
	if c.Door != nil {
		a.Door, a.Address, a.Unused = c.Door.Name, c.Door.Address, !c.Door.Named
	}
	for _, j := range holders {
		if j != job {
			a.Others = append(a.Others, j.ID)
		}
	}
	slices.Sort(a.Others)
	v.Do, v.Quiet, v.Return = Returns, false, &a
}

// needRecords lets a job keep its nodes while it is unknown whether Slurm would requeue a job that
// loses nodes.
func (v *Ruling) needRecords(w *demand.Wanted) {
	for _, id := range append([]uint32{v.Return.Job}, v.Return.Others...) {
		if _, read := w.Seen.Records[id]; read {
			continue
		}
		v.Do, v.Quiet, v.Soon = Waits, true, true
		v.Problems.Add("unread-record", v.Return.Name, "job %s keeps its nodes until the record of job %d is read, and then loses them: %s",
			v.Return.Name, id, v.Return.Reason)
	}
}

// oncePerNode lets a job wait if another job's verdict of this pass has taken one of its nodes.
// Otherwise it notes the nodes that it takes for its job.
func (v *Ruling) oncePerNode(taken map[string]uint32) {
	switch {
	case v.Do != Returns:
	case slices.ContainsFunc(v.Return.Nodes, func(name string) bool { return taken[name] != 0 && taken[name] != v.Return.Job }):
		v.Do, v.Quiet = Waits, true
	default:
		for _, name := range v.Return.Nodes {
			taken[name] = v.Return.Job
		}
	}
}

// decided returns the ruling changed so that nothing is requested, even if the job keeps its
// nodes.
func (v Ruling) decided() Ruling {
	v.Do = max(v.Do, Waits)
	return v
}

// isStatic reports whether the claim is for a static node, which slurmflex always wants up.
func isStatic(s *scene.Scene, c *demand.Claim) bool {
	m := s.Node(c.Nodes[0])
	return m.Static
}

// stays reports whether a claim would keep its nodes if slurmflex gave up on it although another
// attempt may succeed.
func stays(s *scene.Scene, c *demand.Claim) bool {
	if c.Job == nil {
		return isStatic(s, c)
	}
	return s.WouldEnd(c.Holders) || len(takeable(s, c.Job, false)) == 0
}

// takeable returns the nodes that can be taken from a job. It includes nodes that other jobs also
// hold only with forAll, which means that no attempt could help those jobs either, and only if no
// live request names the node. One job may then remain waiting. It leaves out nodes that an
// unreadable job may hold, because that job's needs are unknown, and nodes in an unread region,
// because a machine may exist there.
func takeable(s *scene.Scene, job *slurm.Job, forAll bool) []string {
	return slices.DeleteFunc(unbooted(s, job), func(name string) bool {
		m := s.Node(name)
		return m.IsUnread || m.Doubted || len(m.Holders) > 1 && (!forAll || len(s.Named(name).Requests) > 0)
	})
}

// unbooted returns the job's rising flex nodes without a machine of ours in Compute's lists.
func unbooted(s *scene.Scene, job *slurm.Job) []string {
	var names []string
	for _, m := range s.NodesNamed(job.Nodes) {
		if m.Power == scene.Rising && !m.HasMachine() && !m.MayShow {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// holdersOf returns the jobs that hold any of the nodes, without duplicates.
func holdersOf(s *scene.Scene, nodes []string) []*slurm.Job {
	var jobs []*slurm.Job
	for _, m := range s.NodesNamed(nodes) {
		jobs = m.AddJobs(jobs)
	}
	return jobs
}
