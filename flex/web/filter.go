package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"slurmflex/flex/past"
	"slurmflex/flex/view"
)

// filter selects the part of the cluster that the page shows. Empty fields show everything.
type filter struct {
	User, Partition, State string
	Zoom                   zoom
}

// filterOf parses a filter from a URL's query.
func filterOf(query url.Values) filter {
	f := filter{User: query.Get("user"), Partition: query.Get("partition"), State: query.Get("state"), Zoom: zooms[0]}
	for _, z := range zooms {
		if query.Get("zoom") == z.Name {
			f.Zoom = z
		}
	}
	return f
}

// Active reports whether the filter hides anything.
func (f filter) Active() bool { return f.User+f.Partition+f.State != "" }

// With returns the query for the same filter with another zoom.
func (f filter) With(z zoom) string {
	query := url.Values{"zoom": {z.Name}}
	for name, value := range map[string]string{"user": f.User, "partition": f.Partition, "state": f.State} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/?" + query.Encode()
}

// shows reports whether the filter shows a row. The rows of a partition are the nodes of its jobs,
// and machines without a job that it could use.
func (f filter) shows(v view.View, r view.Row) bool {
	return (f.User == "" || slices.Contains(r.Users, f.User)) && (f.State == "" || string(r.State) == f.State) &&
		(f.Partition == "" || slices.Contains(partitionsOf(v, r), f.Partition))
}

// filterFor returns the filter for a question about a user or a partition; an inactive one for any
// other question.
func filterFor(v view.View, query string) filter {
	f := filter{Zoom: zooms[0]}
	switch {
	case query == "":
	case slices.ContainsFunc(v.Jobs, func(j view.Job) bool { return j.User == query }):
		f.User = query
	case slices.Contains(v.Partitions(), query):
		f.Partition = query
	}
	return f
}

// showsEnded reports whether the filter shows an ended job.
func (f filter) showsEnded(j past.Job) bool {
	return f.State == "" && (f.User == "" || j.User == f.User) &&
		(f.Partition == "" || slices.Contains(strings.Split(j.Partition, ","), f.Partition))
}

func partitionsOf(v view.View, r view.Row) (names []string) {
	if len(r.Jobs) == 0 {
		set, _ := v.NodeSet(r.NodeSet)
		return set.Partitions
	}
	for _, j := range v.Jobs {
		if slices.Contains(r.Jobs, j.ID) {
			names = append(names, strings.Split(j.Partition, ",")...)
		}
	}
	return names
}

// choice is a field of the filter's form.
type choice struct {
	Name, Label, Chosen string
	Values              []string
}

// choices returns the fields with their possible values. The current value is always among them.
func (f filter) choices(v view.View) []choice {
	user := choice{Name: "user", Label: "User", Chosen: f.User}
	partition := choice{Name: "partition", Label: "Partition", Chosen: f.Partition}
	state := choice{Name: "state", Label: "State", Chosen: f.State}
	for _, r := range slices.Concat(v.Rows, v.Pending()) {
		user.Values = append(user.Values, r.Users...)
		state.Values = append(state.Values, string(r.State))
	}
	for _, set := range v.NodeSets {
		partition.Values = append(partition.Values, set.Partitions...)
	}
	all := []choice{user, partition, state}
	for i, c := range all {
		values := slices.DeleteFunc(append(c.Values, c.Chosen), func(value string) bool { return value == "" })
		slices.SortFunc(values, cmp.Compare[string])
		all[i].Values = slices.Compact(values)
	}
	return all
}
