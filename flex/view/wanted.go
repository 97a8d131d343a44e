package view

import (
	"slices"
	"time"

	"slurmflex/mig"
)

// Wanted returns how many machines arrive together for a waiting row, and since when they have been
// requested: also by the failed requests just before. The time is zero if nothing was requested. The
// history counts its waits in the same way.
func (v View) Wanted(r Row) (size int, since time.Time) {
	size, since = r.Count, r.RequestedAt
	g, known := first(v.Groups, func(g Group) bool { return g.Name == r.Group && g.Region == r.Region })
	if !known {
		return size, since
	}
	live := len(g.Requests)
	if r.Request != "" {
		if live = slices.IndexFunc(g.Requests, func(q Request) bool { return q.Name == r.Request }); live < 0 {
			return size, since
		}
		size = max(size, g.Requests[live].Count)
	}
	if g.isShared() {
		return size, since // its other requests are for other jobs
	}
	for i := live - 1; i >= 0 && g.Requests[i].State == mig.Failed && !g.Requests[i].Cause.NeedsAdmin(); i-- {
		since = g.Requests[i].CreatedAt
	}
	return size, since
}

// isShared reports whether several jobs share the group. Its user may be hidden.
func (g Group) isShared() bool { return g.Job == 0 && g.Node == "" }
