package config

import "time"

// Limits of the run duration of a flex-start instance.
// Source: Compute's documentation of resize requests in a MIG.
const (
	MinRunDuration = 600 * time.Second
	MaxRunDuration = 604_800 * time.Second
)

// UsefulLease is the least of a lease that is of use to another job: the shortest that
// can be requested.
const UsefulLease = MinRunDuration

// leastRefresh is the least time that a request waits before another replaces it.
const leastRefresh = time.Hour

// Provisioning says which nodes must arrive together.
type Provisioning string

// Queued is the default.
const (
	Queued     Provisioning = "queued"       // all nodes of a job, in one resize request
	NodeByNode Provisioning = "node_by_node" // each node as soon as it can be had
)

// TimeoutAction is what is done with a job that has waited for capacity too long.
type TimeoutAction string

// Requeue is the default.
const (
	Requeue TimeoutAction = "requeue"
	Hold    TimeoutAction = "hold"
	Cancel  TimeoutAction = "cancel"
)

// LeaseEndAction is what is done with a job that would run on after the lease of its
// nodes.
type LeaseEndAction string

// LetEnd is the default.
const (
	LetEnd       LeaseEndAction = "none" // Compute deletes the machines under the job
	RequeueFirst LeaseEndAction = "requeue"
)

// Flex is how slurmflex provisions the nodes of a nodeset: the dws_flex block, or the keys
// beside capacity, which are fewer. field explains the tags.
type Flex struct {
	// FlexStart with dws_flex.
	Capacity Capacity `key:"capacity" words:"on_demand spot reservation" capacity:"only"`
	// The name or link of the reservation that Capacity Reservation consumes.
	Reservation string `key:"reservation_name" capacity:"only"`
	// The lease: MinRunDuration to MaxRunDuration; 0 with capacity, whose machines have none.
	MaxRunDuration time.Duration `key:"max_run_duration" unit:"s" range:"10m to 168h" default:"168h"`
	// The lease is the job's TimeLimit instead.
	UseJobDuration bool `key:"use_job_duration"`
	// Without resize requests: the legacy path, and that of capacity.
	UseBulkInsert bool         `key:"use_bulk_insert"`
	Provisioning  Provisioning `key:"provisioning" words:"queued node_by_node"`
	// Added to TimeLimit.
	JobDurationMargin time.Duration `key:"job_duration_margin" unit:"s" range:"0s to 168h" needs:"use_job_duration"`
	// The longest wait for capacity; 0: for ever.
	ProvisionTimeout   time.Duration `key:"provision_timeout" unit:"s" range:"0s to 8760h" capacity:"too"`
	OnProvisionTimeout TimeoutAction `key:"on_provision_timeout" words:"requeue hold cancel" needs:"provision_timeout" capacity:"too"`
	// Tasks of an array, of one node each, in one resize request.
	ShareRequests int `key:"share_requests" unit:"machines" range:"1 to 1000" default:"1"`
	// From a pending job's first request until machines are requested in the next partition of its
	// list, too.
	AskElsewhereAfter time.Duration `key:"ask_elsewhere_after" was:"fallback_after" unit:"s" range:"0s to 8760h"`
	// After which another request replaces a waiting one; 0: never.
	RefreshAfter time.Duration `key:"refresh_after" unit:"s" range:"0s to 8760h"`
	// Resize requests for a job's nodes before they are given up.
	MaxAttempts int `key:"max_attempts" unit:"requests" range:"1 to 1000" default:"5"`
	// The longest that one part of a job's nodes waits for the others; 0: for ever.
	GangTimeout time.Duration `key:"gang_timeout" unit:"s" range:"0s to 168h" default:"10m"`
	// From an instance's creation to its slurmd's registration; 0: for ever.
	BootTimeout time.Duration `key:"boot_timeout" unit:"s" range:"0s to 168h" default:"30m" capacity:"too"`
	// In a row, before no more machines are requested; 0: never.
	BootFailures int            `key:"boot_failures" unit:"machines" range:"0 to 1000" default:"5"`
	OnLeaseEnd   LeaseEndAction `key:"on_lease_end" words:"none requeue"`
	// Before the end of a lease under a running job, when its script gets LeaseEndSignal; 0:
	// it gets none.
	LeaseEndWarning time.Duration `key:"lease_end_warning" unit:"s" range:"0s to 168h"`
	LeaseEndSignal  string        `key:"lease_end_signal" words:"USR1 USR2 INT TERM HUP" needs:"lease_end_warning"`
	// For which a dynamic node's machine stays idle after its job; 0: it is deleted with the job.
	KeepIdle time.Duration `key:"keep_idle" unit:"s" range:"0s to 168h" capacity:"too"`
	// A gang that loses a machine keeps the others, if its jobs wait pending.
	Salvage bool `key:"salvage"`
	// The longest that a gang keeps them.
	SalvageTimeout time.Duration `key:"salvage_timeout" unit:"s" range:"1m to 168h" default:"1h" needs:"salvage"`
	// Before the end of an idle static node's lease; 0: not before the end.
	RenewBefore time.Duration `key:"renew_before" unit:"s" range:"0s to 168h"`
}

// endingTakes is what slurmctld needs to end a job that it requeues: KillWait, which is
// 30 s by default, and an epilog.
const endingTakes = 90 * time.Second

// RequeueLead is how long before the end of a lease on_lease_end: requeue takes effect:
// what slurmctld needs, and the time to the next pass.
func (c *Config) RequeueLead() time.Duration { return endingTakes + c.Options.Interval }

// readFlex reads the dws_flex block of a nodeset. The block alone, even empty,
// means enabled; without it or with enabled: false the nodeset is not provisioned by
// flex-start and the result is nil.
func readFlex(s *section, given bool) *Flex {
	enabled := s.flagOr("enabled", given)
	values := defaults[Flex]()
	f := &values
	f.Capacity = FlexStart
	s.read(f, inFlexBlock)
	switch lease := f.MaxRunDuration - UsefulLease; {
	case f.KeepIdle == 0:
	case f.UseJobDuration:
		s.problem("keep_idle", "a lease that follows a job's time limit ends with the job, so nothing is left to keep; remove use_job_duration or this")
	case f.KeepIdle >= lease:
		s.problem("keep_idle", "%d s leaves nothing of a lease of %d s for a job; give less than max_run_duration - %d, which is %d",
			int(f.KeepIdle.Seconds()), int(f.MaxRunDuration.Seconds()), int(UsefulLease.Seconds()), int(lease.Seconds()))
	}
	switch {
	case f.Salvage && f.Provisioning == NodeByNode:
		s.problem("salvage", "nodes that come each by itself are no gang; remove provisioning: node_by_node or this")
	case f.Salvage && f.UseBulkInsert:
		s.problem("salvage", "bulk insert does not wait for a replacement's capacity; remove use_bulk_insert or this")
	}
	switch {
	case f.RefreshAfter > 0 && f.RefreshAfter < leastRefresh:
		s.problem("refresh_after", "%d s leaves a request no time in Google's queue; give %d or more, or 0 to keep requests for as long as they wait",
			int(f.RefreshAfter.Seconds()), int(leastRefresh.Seconds()))
	case f.ProvisionTimeout > 0 && f.RefreshAfter >= f.ProvisionTimeout:
		s.problem("refresh_after", "provision_timeout ends the wait first; give less than that, which is %d, or 0 to keep requests for as long as they wait",
			int(f.ProvisionTimeout.Seconds()))
	}
	if f.RenewBefore >= f.MaxRunDuration {
		s.problem("renew_before", "%d s is no shorter than a lease of %d s, so it would be renewed forever; give less than max_run_duration",
			int(f.RenewBefore.Seconds()), int(f.MaxRunDuration.Seconds()))
	}
	if f.LeaseEndWarning >= f.MaxRunDuration {
		s.problem("lease_end_warning", "%d s is no shorter than a lease of %d s, so each job would be signalled as it begins; give less than max_run_duration",
			int(f.LeaseEndWarning.Seconds()), int(f.MaxRunDuration.Seconds()))
	}
	s.finish()
	if !enabled {
		return nil
	}
	return f
}
