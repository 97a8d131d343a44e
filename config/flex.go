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

// maxProvisionTimeout is the longest wait that can be configured, a year; for
// longer there is 0.
const maxProvisionTimeout = 365 * 24 * time.Hour

// leastRefresh is the least time that a request waits before another replaces it.
const leastRefresh = time.Hour

// leastFallback is the least time that a job waits in a partition before it moves on.
const leastFallback = time.Minute

// Defaults of nodesets of every capacity.
const (
	defaultAttempts     = 5
	defaultGangTimeout  = 10 * time.Minute
	defaultBootTimeout  = 30 * time.Minute
	defaultBootFailures = 5
)

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
// beside capacity, which are fewer.
type Flex struct {
	Capacity           Capacity      // FlexStart with dws_flex
	Reservation        string        // the name, or link, of the one that Capacity Reservation consumes
	MaxRunDuration     time.Duration // the lease; MinRunDuration to MaxRunDuration, default MaxRunDuration; 0: machines of this Capacity have none
	UseJobDuration     bool          // the lease is the job's TimeLimit instead
	UseBulkInsert      bool          // without resize requests: the legacy path, and that of all other kinds of capacity
	Provisioning       Provisioning  // default Queued
	JobDurationMargin  time.Duration // added to TimeLimit; 0 to MaxRunDuration, default 0
	ProvisionTimeout   time.Duration // the longest wait for capacity; 0, the default: for ever
	OnProvisionTimeout TimeoutAction // default Requeue
	ShareRequests      int           // tasks of an array, of one node each, in one resize request; 1, the default, to 1000
	FallbackAfter      time.Duration // after which a job that waits for machines moves to the next partition of its own list; 0, the default: never. With capacity that comes at once it moves when it is refused, too
	RefreshAfter       time.Duration // after which a waiting request is replaced by another; 0, the default: never
	MaxAttempts        int           // resize requests for a job's nodes before they are given up; 1 to 1000, default 5
	GangTimeout        time.Duration // the longest that one part of a job's nodes waits for the others; 0: for ever, default 10 min
	BootTimeout        time.Duration // from an instance's creation to its slurmd's registration; 30 min unless set; 0: for ever
	BootFailures       int           // in a row, before no more machines are requested; 0: never, default 5
	OnLeaseEnd         LeaseEndAction
	LeaseEndWarning    time.Duration // before the end of a lease under a running job, when its script gets LeaseEndSignal; 0, the default: it gets none
	LeaseEndSignal     string        // default USR1
	KeepIdle           time.Duration // for which a dynamic node's machine stays idle after its job; 0, the default: it goes with the job
	Salvage            bool          // the machines that a gang keeps when it loses one are held for it
	SalvageTimeout     time.Duration // the longest that they are; default an hour
	RenewBefore        time.Duration // before the end of an idle static node's lease; 0, the default: not before the end
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
	f := &Flex{
		Capacity:           FlexStart,
		MaxRunDuration:     s.seconds("max_run_duration", MaxRunDuration, MinRunDuration, MaxRunDuration),
		UseJobDuration:     s.flag("use_job_duration"),
		UseBulkInsert:      s.flag("use_bulk_insert"),
		Provisioning:       choice(s, "provisioning", Queued, NodeByNode),
		JobDurationMargin:  s.seconds("job_duration_margin", 0, 0, MaxRunDuration),
		ProvisionTimeout:   s.seconds("provision_timeout", 0, 0, maxProvisionTimeout),
		OnProvisionTimeout: choice(s, "on_provision_timeout", Requeue, Hold, Cancel),
		ShareRequests:      s.integer("share_requests", 1, 1, 1000),
		FallbackAfter:      s.seconds("fallback_after", 0, 0, maxProvisionTimeout),
		RefreshAfter:       s.seconds("refresh_after", 0, 0, maxProvisionTimeout),
		MaxAttempts:        s.integer("max_attempts", defaultAttempts, 1, 1000),
		GangTimeout:        s.seconds("gang_timeout", defaultGangTimeout, 0, MaxRunDuration),
		BootTimeout:        s.seconds("boot_timeout", defaultBootTimeout, 0, MaxRunDuration),
		BootFailures:       s.integer("boot_failures", defaultBootFailures, 0, 1000),
		OnLeaseEnd:         choice(s, "on_lease_end", LetEnd, RequeueFirst),
		LeaseEndWarning:    s.seconds("lease_end_warning", 0, 0, MaxRunDuration),
		LeaseEndSignal:     choice(s, "lease_end_signal", "USR1", "USR2", "INT", "TERM", "HUP"),
		KeepIdle:           s.seconds("keep_idle", 0, 0, MaxRunDuration),
		Salvage:            s.flag("salvage"),
		SalvageTimeout:     s.seconds("salvage_timeout", time.Hour, time.Minute, MaxRunDuration),
		RenewBefore:        s.seconds("renew_before", 0, 0, MaxRunDuration),
	}
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
	case f.FallbackAfter > 0 && f.FallbackAfter < leastFallback:
		s.problem("fallback_after", "%d s leaves a request no time to be served; give %d or more, or 0 to have jobs stay in their partition",
			int(f.FallbackAfter.Seconds()), int(leastFallback.Seconds()))
	case f.ProvisionTimeout > 0 && f.FallbackAfter >= f.ProvisionTimeout:
		s.problem("fallback_after", "provision_timeout ends the wait first; give less than that, which is %d", int(f.ProvisionTimeout.Seconds()))
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
