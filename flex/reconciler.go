// Package flex manages a cluster's flex-start nodes. In each pass it observes Slurm and the cloud,
// lets flex/plan decide, and executes the plan. A pass relies only on its own observation, so the
// next pass repairs a lost call, a crash or a manual change.
package flex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Scheduler lists the calls to Slurm that a pass makes.
type Scheduler interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Jobs(ctx context.Context) ([]slurm.Job, error)
	TaskJobs(ctx context.Context, addresses []string) ([]slurm.Job, error)
	Reservations(ctx context.Context) ([]slurm.Reservation, error)
	UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error

	Settings
	Reserver
	Owners
	Limiter
}

// Settings reads the parts of slurm.conf that passes need from time to time.
type Settings interface {
	Config(ctx context.Context) (slurm.Config, error)
	Partitions(ctx context.Context) ([]slurm.Partition, error)
}

// Reserver manages reservations. They keep jobs off nodes with an ending lease, and keep other jobs
// off nodes that are meant for one job.
type Reserver interface {
	CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error
	SetReservation(ctx context.Context, name string, change slurm.ReservationChange) error
	DeleteReservation(ctx context.Context, name string) error
}

// Owners reads jobs and notifies their owners. A raw id identifies a job.
type Owners interface {
	JobRecords(ctx context.Context, jobs []uint32) ([]slurm.JobRecord, error)
	SetAdminComment(ctx context.Context, job uint32, text string) error
	NotifyJob(ctx context.Context, job uint32, text string) error
	SignalJob(ctx context.Context, job uint32, signal string) error
	RequeueJob(ctx context.Context, job uint32) error
	SetJobReservation(ctx context.Context, job uint32, name string) error
	SetReservationOf(ctx context.Context, address, name string) error
	HoldJob(ctx context.Context, job uint32) error
	CancelJob(ctx context.Context, job uint32) error
}

// Cloud lists the calls to Compute that a pass makes. A reading call returns what it could read,
// and an error for each region that it could not. A changing call returns when the change is done,
// or with an error that has a mig.Cause.
type Cloud interface {
	Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Instances(ctx context.Context, cluster string, regions []string, zones ...string) ([]mig.Instance, map[string]error)
	Template(ctx context.Context, link string) (mig.Template, error)
	Policies(ctx context.Context, cluster string, regions []string) ([]mig.Policy, map[string]error)
	Foreign(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Date() time.Time // Compute's time in its last answer; zero before the first answer
	Members(ctx context.Context, region, group string) ([]mig.Member, error)

	CreateGroup(ctx context.Context, spec mig.GroupSpec) error
	CreateRequest(ctx context.Context, region, group string, spec mig.RequestSpec) error
	CancelRequest(ctx context.Context, region, group, request string) error
	DeleteRequest(ctx context.Context, region, group, request string) error
	DeleteInstances(ctx context.Context, region, group string, instances []mig.Instance) error
	DeleteGroup(ctx context.Context, region, group string) error

	BulkInsert(ctx context.Context, spec mig.BulkSpec) error
	DeleteVMs(ctx context.Context, instances []mig.Instance) error
	CreatePolicy(ctx context.Context, spec mig.PolicySpec) error
	DeletePolicy(ctx context.Context, region, name string) error
}

// Reconciler reconciles. Only one pass may run at a time; see Lock.
type Reconciler struct {
	Config    *config.Config
	Scheduler Scheduler
	Cloud     Cloud
	Log       *zap.Logger
	Now       func() time.Time
	// Jitter spreads the passes of many clusters over time; nil: up to a seventh sooner.
	Jitter func(time.Duration) time.Duration

	Watch Watcher // nil: no watcher

	// Between delivers functions that Run executes between two passes, for example to change
	// Config.
	Between <-chan func()

	// Promises means that this process makes passes until it ends. Only the daemon does so; it may
	// keep jobs pending while it requests machines for them.
	Promises bool

	Adopt bool // passes also remove leftovers of slurm-gcp's scripts

	// Remnants makes passes also delete the remains of killed trials. AllPolicies makes them read
	// workload policies even if no nodeset has placement.
	Remnants, AllPolicies bool

	memory  memory.Memory
	flights flights

	// more executes actions that passes never plan; nil if such actions cannot occur.
	more func(context.Context, action.Action) error
}

// slurmAge is the maximum age of Slurm's answers once the cloud has been read, because jobs start
// and end meanwhile.
const slurmAge = 5 * time.Second

// membersAtOnce bounds the number of parallel member lists.
const membersAtOnce = 16

// cloudLimit bounds the time for reading the cloud in one pass, in every mode. Everything not read
// by then counts as unread.
const cloudLimit = 5 * time.Minute

// inTime returns a context for reading the cloud.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, cloudLimit, fmt.Errorf("not read within %s", cloudLimit))
}

// Observe reads Slurm and the cloud. It fails if Slurm cannot be read. The snapshot names each
// region that cannot be read. If the cloud takes long, for example because a region hangs, Observe
// reads Slurm again.
func (r *Reconciler) Observe(ctx context.Context) (scene.Snapshot, error) {
	snap := r.memory.Begin(r.Now())
	var unseenGroups, unseenInstances map[string]error
	var slurmSeen time.Time
	var compute dated

	asked := ctx
	reads, ctx := errgroup.WithContext(ctx)
	cloud, over := inTime(ctx)
	defer over()
	reads.Go(func() error {
		err := r.observeSlurm(ctx, &snap)
		slurmSeen = r.Now()
		return err
	})
	reads.Go(func() error {
		if r.places() || r.AllPolicies {
			r.observePolicies(cloud, &snap)
		}
		return nil
	})
	reads.Go(func() error {
		snap.Templates = r.templates(cloud)
		return nil
	})
	reads.Go(func() error {
		unseenGroups, unseenInstances, compute = r.observeMachines(cloud, &snap)
		return nil
	})
	err := cmp.Or(reads.Wait(), asked.Err())
	if err == nil && r.Now().Sub(slurmSeen) > slurmAge {
		err = r.observeSlurm(asked, &snap)
	}
	if err != nil {
		// An interrupted reading proves nothing, so it must not look like an empty cluster.
		return scene.Snapshot{}, err
	}
	r.doubt(asked, &snap, unseenGroups, unseenInstances)
	r.observeOwners(asked, &snap)
	leaveOut(&snap, unseenGroups, unseenInstances)
	snap.Now = r.Now()
	snap.Skew = compute.skew(snap.Now)
	// The flights are read before the memory adds what they create.
	snap.Asking = r.flights.asking()
	r.memory.Complete(&snap, r.Config)
	snap.Promises = r.Promises
	return snap, nil
}

// observeMachines reads the groups first and the instances second, so that the list has every
// machine that a request has created. It returns the regions with unreadable groups or instances,
// and the time on Compute's clock.
func (r *Reconciler) observeMachines(ctx context.Context, snap *scene.Snapshot) (unseenGroups, unseenInstances map[string]error, compute dated) {
	regions := r.Config.FlexRegions()
	snap.Groups, unseenGroups = r.Cloud.Groups(ctx, r.Config.Cluster, regions)
	snap.Groups, snap.Trials = report.WithoutTrials(r.Config.Cluster, snap.Groups)
	if len(unseenGroups) < len(regions) {
		snap.Instances, unseenInstances = r.Cloud.Instances(ctx, r.Config.Cluster, regions, zonesOf(r.Config, snap.Groups)...)
		if len(unseenInstances) < len(regions) {
			compute = dated{r.Cloud.Date(), time.Now()}
		}
		snap.Members = r.members(ctx, snap.Hidden(snap.Groups), unseenInstances)
	}
	return unseenGroups, unseenInstances, compute
}

// doubt reads a region again if an instance is missing there: an instance of a node that is up or,
// in the first pass, of a node that is powering up. The instance may be in an unreadable zone that
// is no longer configured. Only a list without zones reports such a zone.
func (r *Reconciler) doubt(ctx context.Context, snap *scene.Snapshot, unseenGroups, unseenInstances map[string]error) {
	there := make(map[string]bool, len(snap.Instances))
	for i := range snap.Instances {
		there[snap.Instances[i].Name] = true
	}
	first := snap.Started.Equal(snap.Begun)
	doubtful := map[string]bool{}
	for _, n := range snap.Nodes {
		power := n.State.Power()
		if there[n.Name] || n.State.Base == slurm.Down || power != slurm.On && (power != slurm.Rising || !first) {
			continue
		}
		if set, _, known := r.Config.Find(n.Name); known && set.Flex != nil && set.Flex.UseBulkInsert {
			doubtful[set.Region] = unseenGroups[set.Region] == nil && unseenInstances[set.Region] == nil
		}
	}
	maps.DeleteFunc(doubtful, func(_ string, is bool) bool { return !is })
	if len(doubtful) == 0 {
		return
	}
	cloud, over := inTime(ctx)
	defer over()
	_, unseen := r.Cloud.Instances(cloud, r.Config.Cluster, slices.Sorted(maps.Keys(doubtful)))
	maps.Copy(unseenInstances, unseen)
}

// zonesOf returns the zones that may have instances of the cluster: those of its nodesets and of
// existing groups. It omits the region of a group with unknown zones, so that the region is read
// as a whole.
func zonesOf(cfg *config.Config, groups []mig.Group) []string {
	zones, unclear := cfg.FlexZones(), map[string]bool{}
	for _, g := range groups {
		zones = append(zones, g.Zones...)
		unclear[g.Region] = unclear[g.Region] || len(g.Zones) == 0
	}
	slices.Sort(zones)
	return slices.DeleteFunc(slices.Compact(zones), func(zone string) bool { return unclear[mig.RegionOf(zone)] })
}

// dated is a time from Compute's clock, and the local time of its reading, from a clock that does
// not jump.
type dated struct{ date, at time.Time }

// skew returns how far now is ahead of Compute's clock, even if this host's clock was set after the
// reading. It returns zero without a reading.
func (d dated) skew(now time.Time) time.Duration {
	if d.date.IsZero() {
		return 0
	}
	return now.Sub(d.date) - time.Since(d.at)
}

// leaveOut records the regions that could not be read, and drops partial readings of these regions,
// because decisions need a complete one.
func leaveOut(snap *scene.Snapshot, unseenGroups, unseenInstances map[string]error) {
	maps.Copy(snap.Unseen, unseenInstances)
	maps.Copy(snap.Unseen, unseenGroups)
	isUnseen := func(g mig.Group) bool { return snap.Unseen[g.Region] != nil }
	snap.Groups, snap.Trials = slices.DeleteFunc(snap.Groups, isUnseen), slices.DeleteFunc(snap.Trials, isUnseen)
	snap.Instances = slices.DeleteFunc(snap.Instances, func(in mig.Instance) bool { return snap.Unseen[in.Region] != nil })
}

// members lists the members of groups with hidden members, except in regions with unreadable
// instances.
func (r *Reconciler) members(ctx context.Context, groups []mig.Group, unseen map[string]error) map[mig.GroupID]scene.Members {
	hidden := slices.DeleteFunc(groups, func(g mig.Group) bool { return unseen[g.Region] != nil })
	found := make([]scene.Members, len(hidden))
	var side errgroup.Group
	side.SetLimit(membersAtOnce)
	for i, g := range hidden {
		side.Go(func() error {
			found[i].All, found[i].Err = r.Cloud.Members(ctx, g.Region, g.Name)
			return nil
		})
	}
	_ = side.Wait()
	members := make(map[mig.GroupID]scene.Members, len(hidden))
	for i, g := range hidden {
		members[g.ID()] = found[i]
	}
	return members
}

// observeSlurm reads nodes before jobs, so that it sees a job that has just started. It records
// rows that cannot be read.
func (r *Reconciler) observeSlurm(ctx context.Context, snap *scene.Snapshot) (err error) {
	snap.Unread = nil
	snap.Nodes, err = r.Scheduler.Nodes(ctx)
	if err = snap.Unread.Take(err); err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	snap.Jobs, err = r.Scheduler.Jobs(ctx)
	if err = snap.Unread.Take(err); err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	snap.Reservations, err = r.Scheduler.Reservations(ctx)
	if err = snap.Unread.Take(err); err != nil {
		return fmt.Errorf("read reservations: %w", err)
	}
	if err := r.observeTasks(ctx, snap); err != nil {
		return fmt.Errorf("read tasks of arrays: %w", err)
	}
	if err := r.readSettings(ctx); err != nil {
		return err
	}
	snap.Unread = append(snap.Unread, r.memory.Settings.Unread...)
	r.observeAllowances(ctx, snap)
	return nil
}

// observeTasks reads the tasks of arrays that have a door, because the queue hides such a task
// among the array's other tasks. An array's last task keeps the array's record. If that task uses a
// door, its row replaces the row that squeue shows for all pending tasks (26.05).
func (r *Reconciler) observeTasks(ctx context.Context, snap *scene.Snapshot) error {
	var addresses []string
	for _, held := range snap.Reservations {
		if h := memo.ParseHold(r.Config.Cluster, held.Name); h.Kind == memo.DoorHold && strings.Contains(h.Address, "_") {
			addresses = append(addresses, h.Address)
		}
	}
	if len(addresses) == 0 {
		return nil
	}
	tasks, err := r.Scheduler.TaskJobs(ctx, addresses)
	if err = snap.Unread.Take(err); err != nil {
		return err
	}
	known := make(map[uint32]int, len(snap.Jobs))
	for i := range snap.Jobs {
		known[snap.Jobs[i].ID] = i
	}
	for _, j := range tasks {
		switch at, isKnown := known[j.ID]; {
		case !isKnown:
			snap.Jobs = append(snap.Jobs, j)
		case snap.Jobs[at].IsTasks() && j.Reservation != "" && memo.ParseHold(r.Config.Cluster, j.Reservation).Address == j.Address():
			snap.Jobs[at] = j
		}
	}
	return nil
}

// observePolicies reads the workload policies. The call needs its own permission, which a project
// without placement may lack.
func (r *Reconciler) observePolicies(ctx context.Context, snap *scene.Snapshot) {
	snap.Policies, snap.UnseenPolicies = r.Cloud.Policies(ctx, r.Config.Cluster, r.Config.FlexRegions())
	if !r.places() {
		maps.DeleteFunc(snap.UnseenPolicies, func(_ string, err error) bool { return mig.CauseOf(err) == mig.CausePermission })
	}
}

// places reports whether any nodeset requires its nodes to be close together.
func (r *Reconciler) places() bool {
	return slices.ContainsFunc(r.Config.FlexSets(), func(n *config.NodeSet) bool { return n.Placement })
}

// Outcome is the result of a pass.
type Outcome struct {
	Plan   plan.Plan
	Failed int // actions that failed; the next pass retries them
}

// Soon reports whether the next pass should run within seconds, because something under way will
// end without further action.
func (o Outcome) Soon() bool { return len(o.Plan.Expect) > 0 || o.Failed > 0 }

// Pass observes, plans and acts once, and waits until its actions have ended. It fails only if it
// cannot observe anything. A failed action is logged and counted, and stops only the actions that
// depend on it.
func (r *Reconciler) Pass(ctx context.Context, only ...Filter) (Outcome, error) {
	return r.pass(ctx, 2*actionLimit, only...)
}

func (r *Reconciler) pass(ctx context.Context, patience time.Duration, only ...Filter) (Outcome, error) {
	r.flights.forget()
	s, p, err := r.Look(ctx, only...)
	if err != nil {
		return Outcome{}, err
	}
	if r.Watch != nil {
		r.Watch.Saw(s, p)
	}
	r.memory.Problems.Report(r.Log, p.Problems, r.Now())
	r.memory.Regions.Report(r.Log, s.Seen)
	return Outcome{Plan: p, Failed: r.apply(ctx, p, patience)}, nil
}

// Plan returns the plan of a pass and changes nothing.
func (r *Reconciler) Plan(ctx context.Context, only ...Filter) (plan.Plan, error) {
	_, p, err := r.Look(ctx, only...)
	return p, err
}

// Look returns the observation and the plan of a pass, and changes nothing.
func (r *Reconciler) Look(ctx context.Context, only ...Filter) (*scene.Scene, plan.Plan, error) {
	snap, err := r.Observe(ctx)
	if err != nil {
		return nil, plan.Plan{}, err
	}
	if r.Adopt {
		cloud, over := inTime(ctx)
		defer over()
		foreign, unseen := r.Cloud.Foreign(cloud, r.Config.Cluster, r.Config.FlexRegions())
		snap.Foreign = foreign
		maps.Copy(snap.Unseen, unseen)
		maps.Copy(snap.Members, r.members(cloud, snap.Hidden(foreign), snap.Unseen))
	}
	s := scene.Of(r.Config, snap)
	p := plan.Compute(s)
	r.memory.Planned(p)
	if r.Remnants {
		for _, t := range report.Trials(s) {
			p.Actions = append(p.Actions, t.Ends()...)
		}
	}
	for _, f := range only {
		p = f(p)
	}
	return s, p, nil
}

// Filter narrows a plan before it is carried out.
type Filter func(plan.Plan) plan.Plan

// OnlyCollect keeps the actions that clean up in the cloud. It drops the cancellation of a request
// that yields its place, because a full pass must write the AdminComment first.
func OnlyCollect(p plan.Plan) plan.Plan {
	var kept []action.Action
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.CancelRequest:
			if !a.Yields {
				kept = append(kept, a)
			}
		case action.DeleteRequest, action.DeleteInstances, action.DeleteVMs, action.DeleteGroup, action.DeletePolicy, action.DeleteReservation:
			kept = append(kept, a)
		}
	}
	p.Actions = kept
	return p
}
