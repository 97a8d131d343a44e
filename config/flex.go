package config

import (
	"reflect"
	"slices"
	"time"
)

// MinRunDuration is the shortest run duration of a flex-start instance. Source: Compute's documentation
// of resize requests in a MIG.
const MinRunDuration = 600 * time.Second

// UsefulLease is the shortest remaining lease that can serve another job. It equals the shortest
// lease that can be requested.
const UsefulLease = MinRunDuration

// CloseEnough is how long before its time limit a job may lose its nodes without being warned or
// requeued.
const CloseEnough = time.Minute

// Values of provisioning: which nodes must arrive together.
const (
	Queued     = "queued"       // all nodes of a job, in one resize request
	NodeByNode = "node_by_node" // each node as soon as it is available
)

// RequeueFirst is the value of on_lease_end with which a job is requeued that would run past the end of
// its nodes' lease. Otherwise Compute deletes the machines while the job runs.
const RequeueFirst = "requeue"

// Flex configures how slurmflex provisions the nodes of a nodeset. Its keys are in the dws_flex
// block. Some of them may also be set beside capacity. field explains the tags.
type Flex struct {
	// Capacity is FlexStart with dws_flex.
	Capacity    Capacity `key:"capacity" words:"on_demand spot reservation" capacity:"only" doc:"Kind of the machines of a nodeset without dws_flex. Google creates all of a job's machines at once or rejects the request, and they have no lease."`
	Reservation string   `key:"reservation_name" form:"reservation" capacity:"only" doc:"The reservation that capacity: reservation consumes; the link of a shared one. It must not be limited to the provisioning model RESERVATION_BOUND."`
	_           struct{} `key:"enabled" values:"true or false" doc:"false: as if dws_flex were absent."`
	// MaxRunDuration is 0 with capacity, because those machines do not have a lease.
	MaxRunDuration time.Duration `key:"max_run_duration" range:"10m to 168h" default:"168h" doc:"The lease: how long Google lets a machine run. With use_job_duration the longest lease."`
	UseJobDuration bool          `key:"use_job_duration" doc:"The lease is as long as the job's time limit plus job_duration_margin, at least 600 s and at most max_run_duration. In a shared partition, the longest time limit of the node's jobs counts. Without a time limit, or without a job, the lease is max_run_duration."`
	// JobDurationMargin leaves MinRunDuration of MaxRunDuration by default.
	JobDurationMargin time.Duration `key:"job_duration_margin" leaves:"1m" range:"0s to 168h" default:"10m" needs:"use_job_duration" doc:"Added to the time limit, because boot and prolog are part of the lease. If max_run_duration is below 20m, the default is max_run_duration - 10m."`
	// UseBulkInsert is also the path for capacity.
	UseBulkInsert      bool          `key:"use_bulk_insert" doc:"Bulk insert instead of resize requests: no queue, no placement, no limits on requests."`
	Provisioning       string        `key:"provisioning" words:"queued node_by_node" doc:"queued: all nodes of a job at once, in one request. node_by_node: each node by itself, for one-node jobs in a shared partition."`
	ProvisionTimeout   time.Duration `key:"provision_timeout" range:"0s to 8760h" capacity:"too" doc:"Longest wait for machines; 0: no limit. The clock stops while no request can be made for the job."`
	OnProvisionTimeout string        `key:"on_provision_timeout" words:"requeue hold cancel" needs:"provision_timeout" capacity:"too" doc:"What happens to a job after provision_timeout."`
	ShareRequests      int           `key:"share_requests" unit:"machines" range:"1 to 1000" default:"1" doc:"Most machines in one request that one-node jobs share: tasks of an array with equal leases, and, while the region is crowded, other jobs of one user."`
	FailoverAfter      time.Duration `key:"failover_after" was:"fallback_after" range:"0s to 8760h" doc:"Time from when nodes were first reserved for a pending job until machines are also requested in the partitions that follow this nodeset's in the job's list."`
	MaxAttempts        int           `key:"max_attempts" unit:"requests" range:"1 to 1000" default:"5" doc:"Failed requests before a job's wait starts again: a CONFIGURING job is requeued, a PENDING job gets a new request."`
	GangTimeout        time.Duration `key:"gang_timeout" range:"0s to 168h" default:"10m" doc:"How long a job's first machines wait for the rest; then all are deleted; 0: no limit."`
	BootTimeout        time.Duration `key:"boot_timeout" range:"0s to 168h" default:"30m" capacity:"too" doc:"Time from a machine's creation until its slurmd must have registered; 0: no limit."`
	BootFailures       int           `key:"boot_failures" unit:"machines" range:"0 to 1000" default:"5" doc:"Failed boots in a row before the nodeset is blocked; 0: no limit."`
	HealthCheck        time.Duration `key:"health_check" range:"0s to 24h" capacity:"too" doc:"How long a machine that its health check has drained may be without a result; then it is replaced, as after a failed check; 0: drained machines are left to the admin."`
	OnLeaseEnd         string        `key:"on_lease_end" words:"none requeue" doc:"requeue: requeue a job that runs past the end of its lease, one interval plus 90 s before Google deletes its machines."`
	LeaseEndWarning    time.Duration `key:"lease_end_warning" leaves:"1s" range:"0s to 168h" doc:"How long before its lease ends a job that runs past that end is warned, by USR1 if its --comment has slurmflex:signal; salloc and srun get a message; 0: never."`
	KeepIdle           time.Duration `key:"keep_idle" leaves:"10m" range:"0s to 168h" capacity:"too" doc:"How long a dynamic node's machine stays idle after its job, billed, for the next suitable one; 0: it is deleted with its job."`
	Salvage            bool          `key:"salvage" doc:"A PENDING job of several nodes that loses a machine keeps the others, and waits for a replacement. The survivors are billed meanwhile."`
	SalvageTimeout     time.Duration `key:"salvage_timeout" range:"1m to 168h" default:"1h" needs:"salvage" doc:"Time in which the replacements must have booted; then the survivors are deleted. If no nodes are free for replacements, half of this time."`
	RenewBefore        time.Duration `key:"renew_before" leaves:"1s" range:"0s to 168h" doc:"How long before its lease ends an idle static node gets a new machine; 0: at the end."`
}

// endingTakes is the time that slurmctld needs to end a job that it requeues: KillWait, which is
// 30 s by default, and an epilog.
const endingTakes = 90 * time.Second

// RequeueLead is how long before the end of a lease on_lease_end: requeue takes effect. It covers
// slurmctld's ending of the job and the time to the next pass.
func (c *Config) RequeueLead() time.Duration { return endingTakes + c.Options.Interval }

// readFlex reads the dws_flex block of a nodeset. The block alone, even an empty one, enables
// flex-start. Without the block, or with enabled: false, flex-start does not provision the nodeset
// and readFlex returns nil.
func readFlex(s *section, given bool) *Flex {
	enabled := s.flagOr("enabled", given)
	values := defaults[Flex]()
	f := &values
	f.Capacity = FlexStart
	s.read(f, inFlexBlock)
	if !s.has("job_duration_margin") {
		f.JobDurationMargin = min(f.JobDurationMargin, f.MaxRunDuration-MinRunDuration)
	}
	if f.KeepIdle > 0 && f.UseJobDuration {
		s.problem("keep_idle", "cannot be combined with use_job_duration, because such a lease ends with its job; remove use_job_duration or this")
	}
	switch {
	case f.Salvage && f.Provisioning == NodeByNode:
		s.problem("salvage", "cannot be combined with provisioning: node_by_node, which requests each node separately; remove provisioning or this")
	case f.Salvage && f.UseBulkInsert:
		s.problem("salvage", "bulk insert does not wait for a replacement's capacity; remove use_bulk_insert or this")
	}
	s.checkLeaves(f)
	s.finish()
	if !enabled {
		return nil
	}
	return f
}

// checkLeaves reports keys that leave too little of the longest lease.
func (s *section) checkLeaves(f *Flex) {
	v := reflect.ValueOf(f).Elem()
	without := f.Unmet()
	for _, field := range fieldsOf(v.Type()) {
		most := f.MaxRunDuration - field.leaves
		unmet := slices.ContainsFunc(without, func(u Unmet) bool { return u.Key == field.key })
		if is := v.Field(field.index); field.leaves > 0 && !unmet && is.Int() > int64(most) {
			s.problem(field.key, "%s leaves less than %s of a lease of %s; must be at most %s", is, field.leaves, f.MaxRunDuration, most)
		}
	}
}
