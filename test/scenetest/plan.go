package scenetest

import (
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// PlanJobs plans the pending jobs of a snapshot that lack a plan as Slurm's backfill does for the
// end of the cover over cold nodes: the most important job first, each on the first free nodes of
// the first of its partitions that has enough that fit.
func PlanJobs(cluster string, snap *scene.Snapshot) {
	free := map[string]bool{}
	var at time.Time
	for _, cold := range []bool{true, false} {
		for _, r := range snap.Reservations {
			hold := memo.ParseHold(cluster, r.Name)
			isCold := hold.Kind == memo.CoverHold && hold.Over == memo.ColdCover
			if isCold {
				at = r.End
			}
			for _, name := range r.Nodes {
				switch {
				case isCold && cold:
					free[name] = true
				case !isCold && !cold:
					delete(free, name)
				}
			}
		}
	}
	if earliest := snap.Now.Add(snap.BackfillWindow - time.Hour); at.After(earliest) {
		at = earliest // a test's cover ends at any time
	}
	for _, n := range snap.Nodes {
		if free[n.Name] && (!n.State.IsIdle() || !n.State.Has(slurm.PoweredDown) || n.State.Has(slurm.Drain) || n.State.Has(slurm.PoweringDown)) {
			delete(free, n.Name)
		}
	}
	idle := map[string]bool{}
	for _, n := range snap.Nodes {
		if n.State.IsIdle() && n.State.Power() == slurm.On && !n.State.Has(slurm.Drain) {
			idle[n.Name] = true
		}
	}
	for _, r := range snap.Reservations {
		for _, name := range r.Nodes {
			if memo.ParseHold(cluster, r.Name).Over != memo.WarmCover {
				delete(idle, name)
			}
		}
	}
	jobs := make([]*slurm.Job, len(snap.Jobs))
	for i := range snap.Jobs {
		jobs[i] = &snap.Jobs[i]
	}
	slices.SortStableFunc(jobs, scene.ByImportance)
	for _, j := range jobs {
		waits := j.State.Waits() && j.Priority > 0 && j.Reservation == "" && (slurm.LacksNodes(j.Reason) || j.Reason == "Reservation" || j.Reason == "BadConstraints")
		if !waits || j.NodeCount == 0 {
			continue
		}
		for _, name := range j.Planned {
			delete(free, name)
		}
		starts := false // on idle machines
		for partition := range strings.SplitSeq(j.Partition, ",") {
			if starts = starts || pick(snap, idle, j, partition) != nil; !starts && len(j.Planned) == 0 {
				j.Planned = pick(snap, free, j, partition)
			}
		}
		if len(j.Planned) > 0 && (j.Start.IsZero() || j.Start.Before(snap.Now)) {
			j.Start = at
		}
	}
}

// Fits reports whether the node has one of the features that a job lists as alternatives, and is not excluded.
func Fits(j slurm.Job, n slurm.Node) bool {
	isAny := func(feature string) bool { return feature == "" || slices.Contains(n.Features, feature) }
	return slices.ContainsFunc(strings.Split(j.Features, " "), isAny) && !slices.Contains(j.Excludes, n.Name)
}

// pick returns nodes of the partition for a job, and takes them out of the free ones; nil if there
// are too few.
func pick(snap *scene.Snapshot, free map[string]bool, j *slurm.Job, partition string) []string {
	i := slices.IndexFunc(snap.Partitions, func(p slurm.Partition) bool { return p.Name == partition && p.Begins })
	if i < 0 || len(free) == 0 {
		return nil
	}
	needs := j.Needs
	if slices.ContainsFunc(needs, func(name string) bool { return !slices.Contains(snap.Partitions[i].Nodes, name) }) {
		return nil
	}
	isFit := func(name string) bool {
		return slices.ContainsFunc(snap.Nodes, func(n slurm.Node) bool { return n.Name == name && Fits(*j, n) })
	}
	var chosen []string
	for _, names := range [][]string{needs, snap.Partitions[i].Nodes} {
		for _, name := range names {
			if len(chosen) == j.NodeCount {
				break
			}
			if free[name] && !slices.Contains(chosen, name) && isFit(name) {
				chosen = append(chosen, name)
			}
		}
	}
	if len(chosen) < j.NodeCount || slices.ContainsFunc(needs, func(name string) bool { return !slices.Contains(chosen, name) }) {
		return nil
	}
	for _, name := range chosen {
		delete(free, name)
	}
	slices.Sort(chosen)
	return chosen
}
