package web

import (
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/view"
)

// actionsKept is the number of actions that the daemon remembers.
const actionsKept = 300

// withAction adds an action to the last ones, newest first. Repeated failures are one action with a
// count. Messages to jobs are left out: the job shows them, and they would soon fill the list.
func withAction(last []view.Action, a view.Action) []view.Action {
	if a.Kind == action.About(action.CommentJob{}).Kind && a.Error == "" {
		return last
	}
	var others []view.Action
	for _, old := range last {
		if a.Error != "" && old.What == a.What && old.Error == a.Error {
			a.Times += old.Times
		} else {
			others = append(others, old)
		}
	}
	return slices.Insert(others[:min(len(others), actionsKept-1)], 0, a)
}
