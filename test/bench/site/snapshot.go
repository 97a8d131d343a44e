package site

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// The states of nodes, as Slurm prints them.
const (
	PoweredDown  = "IDLE+CLOUD+POWERED_DOWN"
	PoweringUp   = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP+POWER_DOWN"
	Running      = "ALLOCATED+CLOUD+POWER_DOWN"
	PoweringDown = "IDLE+CLOUD+POWERING_DOWN"
)

// Limit is the time limit of every job.
const Limit = time.Hour

// Steady returns a cluster that needs no actions: four fifths of the nodes run four-node jobs, one
// in 25 waits for capacity in ten-node jobs, and the others are powered down. The leases of jobs
// that started in the same minute share a reservation.
func Steady(cfg *config.Config, now time.Time) scene.Snapshot {
	b := newBuilder(cfg, now)
	size := len(b.snap.Nodes)
	jobs := size / 5
	for i := range jobs {
		b.run(4*i, 4, now.Add(-time.Duration(i%50+3)*time.Minute))
	}
	for i := range size / 250 {
		since := now.Add(-30 * time.Second)
		b.request(b.allocate(4*jobs+10*i, 10, PoweringUp, slurm.JobConfiguring, since), mig.Accepted, since)
	}
	b.sort()
	for _, a := range plan.Compute(scene.Of(cfg, b.snap)).Actions {
		if r, ok := a.(action.CreateReservation); ok {
			b.snap.Reservations = append(b.snap.Reservations, slurm.Reservation{Name: r.Name, Nodes: r.Nodes, Start: r.Start, End: r.Start.Add(r.Lasts)})
		}
	}
	return b.snap
}

// Rising returns a cluster in which all jobs have just started: every node powers up for a
// four-node job, and no request exists yet.
func Rising(cfg *config.Config, now time.Time) scene.Snapshot {
	b := newBuilder(cfg, now)
	for i := range len(b.snap.Nodes) / 4 {
		b.allocate(4*i, 4, PoweringUp, slurm.JobConfiguring, now)
	}
	return b.snap
}

// Leaving returns a cluster that Slurm has just powered down: every job has ended, and every
// machine still exists.
func Leaving(cfg *config.Config, now time.Time) scene.Snapshot {
	b := newBuilder(cfg, now)
	for i := range len(b.snap.Nodes) / 4 {
		b.run(4*i, 4, now.Add(-20*time.Minute))
	}
	b.sort()
	b.snap.Jobs = nil
	for i := range b.snap.Nodes {
		b.snap.Nodes[i].State = slurm.ParseState(PoweringDown)
	}
	return b.snap
}

// builder builds a snapshot of the config's nodeset.
type builder struct {
	snap scene.Snapshot
	jobs uint32
}

func newBuilder(cfg *config.Config, now time.Time) *builder {
	b := &builder{snap: scene.Snapshot{
		Now:   now,
		Slurm: scene.Slurm{Settings: scene.Settings{ResumeTimeout: 18 * time.Hour}},
		Compute: scene.Compute{
			Templates: map[string]scene.Template{template: {Template: mig.Template{
				Link: template, MachineType: Machine, Model: "FLEX_START", MaxRun: mig.MaxDuration,
				Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
			}}},
		},
	}}
	down := slurm.ParseState(PoweredDown)
	for _, name := range Nodes(0, cfg.NodeSets[0].Size()) {
		b.snap.Nodes = append(b.snap.Nodes, slurm.Node{Name: name, State: down, Partitions: []string{"train"}})
	}
	return b
}

// sort orders the instances as package gce does.
func (b *builder) sort() {
	slices.SortFunc(b.snap.Instances, func(a, b mig.Instance) int { return strings.Compare(a.Name, b.Name) })
}

// allocate gives a new job n nodes, starting at index first.
func (b *builder) allocate(first, n int, nodes string, job slurm.JobState, since time.Time) slurm.Job {
	b.jobs++
	j := slurm.Job{
		ID: b.jobs, ArrayID: b.jobs, Partition: "train", State: job, Nodes: Nodes(first, n), Start: since,
		Priority: 100, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: Limit}, User: "ada", Reason: "None",
	}
	b.snap.Jobs = append(b.snap.Jobs, j)
	state := slurm.ParseState(nodes)
	for i := first; i < first+n; i++ {
		b.snap.Nodes[i].State = state
	}
	return j
}

// run makes n nodes run a job since that time, on machines that were created a minute earlier.
func (b *builder) run(first, n int, since time.Time) {
	j := b.allocate(first, n, Running, slurm.JobRunning, since)
	group := b.request(j, mig.Succeeded, since.Add(-time.Minute))
	for _, name := range j.Nodes {
		b.snap.Instances = append(b.snap.Instances, mig.Instance{
			Name: name, Zone: Zone, Region: Region, Group: group, Status: "RUNNING", Model: mig.FlexStart,
			Created: since.Add(-time.Minute), Terminates: since.Add(Limit + 9*time.Minute),
		})
	}
}

// request creates a job's group and request, and returns the group's name.
func (b *builder) request(j slurm.Job, state mig.RequestState, at time.Time) string {
	name := fmt.Sprintf("%s-%s-job-%d", Cluster, NodeSet, j.ID)
	b.snap.Groups = append(b.snap.Groups, mig.Group{
		Name: name, Region: Region, TargetSize: len(j.Nodes), Created: at,
		Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: Cluster, NodeSet: NodeSet, Job: j.ID},
		Requests: []mig.Request{{
			Name: "a1", State: state, Instances: j.Nodes, Duration: Limit + 10*time.Minute, Created: at,
		}},
	})
	return name
}
