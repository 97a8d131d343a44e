package scenetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Do changes the world as the actions of a plan would: those on reservations, on jobs that wait
// pending, and on groups and their requests. Compute accepts each request and grants none. Array tasks
// must have rows of their own. All other actions change nothing.
func (w *World) Do(actions []action.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case action.CreateGroup:
			w.Snap.Groups = append(w.Snap.Groups, mig.Group{Name: a.Group.Name, Region: a.Group.Region, Created: w.Snap.Now, Stamp: a.Spec.Stamp})
		case action.CreateRequest:
			g := w.group(a.Group)
			g.Requests = append(g.Requests, mig.Request{Name: a.Spec.Name, State: mig.Accepted, Instances: a.Spec.Instances, Duration: a.Spec.Duration, Created: w.Snap.Now})
		case action.CancelRequest:
			g := w.group(a.Group)
			g.Requests[slices.IndexFunc(g.Requests, func(r mig.Request) bool { return r.Name == a.Request })].State = mig.Cancelled
		case action.DeleteRequest:
			g := w.group(a.Group)
			g.Requests = slices.DeleteFunc(g.Requests, func(r mig.Request) bool { return r.Name == a.Request })
		case action.DeleteGroup:
			w.NoGroup(a.Group.Name)
		case action.CreateReservation:
			start := cmp.Or(a.Start, w.Snap.Now)
			made := slurm.Reservation{Name: a.Name, Nodes: a.Nodes, Start: start, End: start.Add(cmp.Or(a.Lasts, 365*24*time.Hour)), Flags: purge(a.Purge)}
			if a.User != "" {
				made.Users = []string{a.User}
			}
			w.Snap.Reservations = append(w.Snap.Reservations, made)
		case action.SetReservation:
			w.setReservation(a)
		case action.DeleteReservation:
			w.deleteReservation(a.Name)
		case action.UseReservation:
			j := &w.Snap.Jobs[slices.IndexFunc(w.Snap.Jobs, func(j slurm.Job) bool { return j.ID == a.Job })]
			j.Reservation, j.Reason = a.Name, "Reservation"
			if a.Leave {
				j.Reservation, j.Reason = "", "Resources"
			}
		case action.CommentJob:
			w.Snap.Told[a.Job] = a.Text
		case action.ReturnNodes:
			w.deleteReservation(a.Door)
		}
	}
}

func (w *World) group(id mig.GroupID) *mig.Group {
	return &w.Snap.Groups[slices.IndexFunc(w.Snap.Groups, func(g mig.Group) bool { return g.ID() == id })]
}

func purge(after time.Duration) []string {
	return []string{fmt.Sprintf("PURGE_COMP=%d:00", after/time.Minute)}
}

func (w *World) setReservation(a action.SetReservation) {
	r := &w.Snap.Reservations[slices.IndexFunc(w.Snap.Reservations, func(r slurm.Reservation) bool { return r.Name == a.Name })]
	if a.Nodes != nil {
		r.Nodes = a.Nodes
	}
	if !a.Start.IsZero() {
		r.Start = a.Start
	}
	if !a.End.IsZero() {
		r.End = a.End
	}
	if a.Purge > 0 {
		r.Flags = purge(a.Purge)
	}
}

// deleteReservation deletes a reservation, which its job stops using.
func (w *World) deleteReservation(name string) {
	w.Snap.Reservations = slices.DeleteFunc(w.Snap.Reservations, func(r slurm.Reservation) bool { return r.Name == name })
	for i := range w.Snap.Jobs {
		if j := &w.Snap.Jobs[i]; j.Reservation == name && j.State.Waits() {
			j.Reservation, j.Reason = "", "Resources"
		}
	}
}
