package site

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Waiting returns a cluster in which the given number of jobs wait PENDING for capacity, each for
// that many nodes. Each has a door and, as far as places allow, an ACCEPTED request. All other nodes
// are under the cover.
func Waiting(cfg *config.Config, now time.Time, jobs, nodes int) scene.Snapshot {
	b := newBuilder(cfg, now.Truncate(time.Second)) // as precise as Slurm's times
	b.snap.Promises, b.snap.SuspendTime = true, 5*time.Minute
	for range jobs {
		b.jobs++
		b.snap.Jobs = append(b.snap.Jobs, slurm.Job{
			ID: b.jobs, ArrayID: b.jobs, Partition: "train", State: slurm.JobPending, NodeCount: nodes,
			Priority: 100, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: Limit}, User: "ada", Reason: "Resources",
		})
	}
	for b.arrive(plan.Compute(scene.Of(cfg, b.snap)).Actions) {
	}
	return b.snap
}

// arrive applies a plan's requests and reservations, and reports whether it contained any.
func (b *builder) arrive(actions []action.Action) (said bool) {
	for _, a := range actions {
		switch a := a.(type) {
		case action.CreateGroup:
			b.snap.Groups = append(b.snap.Groups, mig.Group{Name: a.Group.Name, Region: a.Group.Region, Created: b.snap.Now, Stamp: a.Spec.Stamp})
		case action.CreateRequest:
			g := &b.snap.Groups[slices.IndexFunc(b.snap.Groups, func(g mig.Group) bool { return g.ID() == a.Group })]
			g.Requests = append(g.Requests, mig.Request{Name: a.Spec.Name, State: mig.Accepted, Instances: a.Spec.Instances, Duration: a.Spec.Duration, Created: b.snap.Now})
		case action.CreateReservation:
			made := slurm.Reservation{Name: a.Name, Nodes: a.Nodes, Start: a.Start, Flags: []string{fmt.Sprintf("PURGE_COMP=%d:00", a.Purge/time.Minute)}}
			if a.Lasts > 0 {
				made.End = a.Start.Add(a.Lasts)
			}
			if a.User != "" {
				made.Users = []string{a.User}
			}
			b.snap.Reservations = append(b.snap.Reservations, made)
		case action.SetReservation:
			if a.Nodes == nil {
				continue
			}
			at := slices.IndexFunc(b.snap.Reservations, func(r slurm.Reservation) bool { return r.Name == a.Name })
			b.snap.Reservations[at].Nodes = a.Nodes
		case action.UseReservation:
			b.snap.Jobs[a.Job-1].Reservation = a.Name
		default:
			continue
		}
		said = true
	}
	return said
}
