package view

import (
	"errors"
	"slices"
	"strings"

	"slurmflex/config"
)

// Filter selects a part of a view. Empty fields match everything.
type Filter struct {
	NodeSet   string
	Partition string // also matches jobs with several partitions
	User      string
}

// Select returns the part of the view that matches a user's filter. A filter for an unknown nodeset
// or partition is wrong usage.
func (v View) Select(f Filter) (View, error) {
	sets, partitions := v.NodeSetNames(), v.Partitions()
	switch {
	case f.NodeSet != "" && !slices.Contains(sets, f.NodeSet):
		return View{}, config.Misuse(config.UnknownFlexSet(f.NodeSet, sets))
	case f.Partition != "" && !slices.Contains(partitions, f.Partition):
		return View{}, config.Misusef("unknown flex-start partition %q; choose one of: %s", f.Partition, strings.Join(partitions, ", "))
	case f.User != "" && v.hidesUsers():
		return View{}, errors.New("--me and --user do not work here, because Slurm hides the users of jobs (PrivateData)")
	}
	return v.only(f), nil
}

// only returns the part of the view that matches the filter. It keeps all problems and actions, and
// all jobs of a nodeset's partitions.
func (v View) only(f Filter) View {
	if f == (Filter{}) {
		return v
	}
	if f.Partition != "" {
		v.Jobs = keep(v.Jobs, func(j Job) bool { return j.mayUse(f.Partition) })
	}
	if f.User != "" {
		v.Jobs = keep(v.Jobs, func(j Job) bool { return j.User == f.User })
	}
	v.NodeSets = keep(v.NodeSets, func(s NodeSet) bool {
		return (f.NodeSet == "" || s.Name == f.NodeSet) && (f.Partition == "" || slices.Contains(s.Partitions, f.Partition))
	})
	shown := func(nodeset string) bool { _, ok := v.NodeSet(nodeset); return ok }
	v.Rows = keep(v.Rows, func(r Row) bool { return shown(r.NodeSet) && v.hasJobOf(r, f) })
	v.Groups = keep(v.Groups, func(g Group) bool {
		return shown(g.NodeSet) && (f.User == "" || slices.ContainsFunc(v.Jobs, func(j Job) bool { return j.ID == g.Job }) ||
			g.isShared() && slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Group == g.Name && r.Region == g.Region }))
	})
	v.Regions = keep(v.Regions, func(r Region) bool {
		return slices.ContainsFunc(v.NodeSets, func(s NodeSet) bool { return s.Region == r.Name })
	})
	return v
}

// hasJobOf reports whether a row has one of the remaining jobs, or may get one.
func (v View) hasJobOf(r Row, f Filter) bool {
	if f.User == "" && (f.Partition == "" || len(r.Jobs) == 0) {
		return true
	}
	return slices.ContainsFunc(v.Jobs, func(j Job) bool { return slices.Contains(r.Jobs, j.ID) })
}

// mayUse reports whether the job may run in a partition.
func (j Job) mayUse(partition string) bool {
	return slices.Contains(strings.Split(j.Partition, ","), partition)
}

// hidesUsers reports whether Slurm hides the owners of jobs.
func (v View) hidesUsers() bool {
	return len(v.Jobs) > 0 && !slices.ContainsFunc(v.Jobs, func(j Job) bool { return j.User != "" })
}

// keep returns the matching elements of a list, without changing the list.
func keep[T any](list []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(item T) bool { return !wanted(item) })
}

// first returns the first matching element of a list; the zero value if there is none.
func first[T any](list []T, wanted func(T) bool) (found T, ok bool) {
	at := slices.IndexFunc(list, wanted)
	if at < 0 {
		return found, false
	}
	return list[at], true
}
