// Package observe reads Slurm and Compute for a pass.
package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Scheduler lists the calls to Slurm that read.
type Scheduler interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Jobs(ctx context.Context) ([]slurm.Job, error)
	TaskJobs(ctx context.Context, addresses []string) ([]slurm.Job, error)
	ArrayThrottle(ctx context.Context, array uint32, task int) (int, error)
	Reservations(ctx context.Context) ([]slurm.Reservation, error)
	Config(ctx context.Context) (slurm.Config, error)
	Partitions(ctx context.Context) ([]slurm.Partition, error)

	// Allowances reads Slurm's limits: those of licenses and, if AccountingStorageEnforce has them, of
	// accounts, users and QOS.
	Allowances(ctx context.Context, enforced []string) (slurm.Allowances, error)
	JobRecords(ctx context.Context, jobs []uint32) ([]slurm.JobRecord, error)
}

// Cloud lists the calls to Compute that read. A call returns what it could read, and an error for
// each region that it could not.
type Cloud interface {
	Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Instances(ctx context.Context, cluster string, regions []string, zones ...string) ([]mig.Instance, map[string]error)
	Template(ctx context.Context, link string) (mig.Template, error)
	Policies(ctx context.Context, cluster string, regions []string) ([]mig.Policy, map[string]error)
	Foreign(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Date() time.Time // Compute's time in its last answer; zero before the first answer
	Members(ctx context.Context, region, group string) ([]mig.Member, error)
}

// Observer fills snapshots. It changes nothing, except for job records, throttles, slurm.conf and
// templates in the Memory.
type Observer struct {
	Config *config.Config
	Slurm  Scheduler
	Cloud  Cloud
	Memory *memory.Memory
	Log    *zap.Logger
	Now    func() time.Time

	Promises    bool // this process makes passes until it ends, so that it may keep a cover
	AllPolicies bool // read workload policies even if no nodeset has placement
}

// SlurmAge is the maximum age of Slurm's answers once the cloud has been read, because jobs start
// and end meanwhile.
const SlurmAge = 5 * time.Second

// CloudLimit bounds the time for reading the cloud in one pass, in every mode. Everything not read
// by then counts as unread.
const CloudLimit = 5 * time.Minute

// callsAtOnce bounds the number of parallel calls for single groups and templates.
const callsAtOnce = 16

// inTime returns a context for reading the cloud.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, CloudLimit, fmt.Errorf("not read within %s", CloudLimit))
}

// covers reports whether this process keeps a cover.
func (o Observer) covers() bool { return o.Promises && o.Config.Options.Waiting == config.Pending }

// Read reads Slurm and the cloud into a snapshot. It fails if Slurm cannot be read. The snapshot
// names each region that cannot be read. If the cloud takes long, for example because a region
// hangs, Read reads Slurm again.
func (o Observer) Read(ctx context.Context, snap *scene.Snapshot) error {
	var slurmSeen time.Time
	var compute dated

	asked := ctx
	reads, ctx := errgroup.WithContext(ctx)
	cloud, over := inTime(ctx)
	defer over()
	reads.Go(func() error {
		err := o.observeSlurm(ctx, snap)
		slurmSeen = o.Now()
		return err
	})
	reads.Go(func() error {
		if o.places() || o.AllPolicies {
			o.observePolicies(cloud, snap)
		}
		return nil
	})
	reads.Go(func() error {
		snap.Templates = o.templates(cloud)
		return nil
	})
	reads.Go(func() error {
		compute = o.observeMachines(cloud, snap)
		return nil
	})
	err := cmp.Or(reads.Wait(), asked.Err())
	if err == nil && o.Now().Sub(slurmSeen) > SlurmAge {
		err = o.observeSlurm(asked, snap)
	}
	if err != nil {
		return err
	}
	o.doubt(asked, snap)
	o.observeOwners(asked, snap)
	o.finish(snap, compute)
	return nil
}

// ReadCloud reads only the cloud into a snapshot, with the workload policies.
func (o Observer) ReadCloud(ctx context.Context, snap *scene.Snapshot) {
	cloud, over := inTime(ctx)
	defer over()
	compute := o.observeMachines(cloud, snap)
	o.observePolicies(cloud, snap)
	o.finish(snap, compute)
}

// AddForeign adds leftovers of slurm-gcp's scripts to a snapshot.
func (o Observer) AddForeign(ctx context.Context, snap *scene.Snapshot) {
	cloud, over := inTime(ctx)
	defer over()
	foreign, unseen := o.Cloud.Foreign(cloud, o.Config.Cluster, o.Config.FlexRegions())
	snap.Foreign = foreign
	maps.Copy(snap.Unseen, unseen)
	maps.Copy(snap.Members, o.members(cloud, snap.Miscounted(foreign), snap.Unseen))
}
