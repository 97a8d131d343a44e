package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slurmflex/flex/history"
	"slurmflex/flex/plan/scene"
)

// events counts the history's news, lost machines, and machine time.
type events struct {
	queueWait *prometheus.HistogramVec // by nodeset
	boot      *prometheus.HistogramVec // by nodeset
	seconds   *prometheus.CounterVec   // by nodeset and use
	reuses    *prometheus.CounterVec   // by nodeset
	losses    *prometheus.CounterVec   // by nodeset and cause
	raceLost  *prometheus.CounterVec   // by nodeset
	unhealthy *prometheus.CounterVec   // by nodeset and whether an earlier machine on the host was, too

	looked map[string]time.Time // by region: the last look that read it
	lost   map[string]bool      // by node: its loss is counted
}

func newEvents(f factory) events {
	e := events{
		queueWait: f.histogram("slurmflex_queue_wait_seconds",
			"Time from a machine's first resize request, even a failed one, to its creation.",
			[]float64{10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 345600, 604800}, "nodeset"),
		boot: f.histogram("slurmflex_boot_seconds",
			"Time from creating a machine to the pass that saw its node registered.",
			[]float64{30, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800}, "nodeset"),
		seconds: f.counter("slurmflex_machine_seconds_total",
			"Machine-seconds by use: used (by the job that the machine was requested for; on a static node by any job), reused (by another job), kept (idle within keep_idle), salvaged (kept for a job that lost other machines), idle (all other time, boot and shutdown included).",
			"nodeset", "use"),
		reuses: f.counter("slurmflex_machine_reuses_total", "Machines that got a job that they were not requested for.", "nodeset"),
		losses: f.counter("slurmflex_machines_lost_total",
			"Machines that disappeared or stopped under a job, by cause: lease_ended, maintenance, host_error, preempted, stopped, gone.",
			"nodeset", "cause"),
		raceLost: f.counter("slurmflex_race_lost_machine_seconds_total",
			"Machine-seconds for jobs that started in another nodeset, counted when the machine is gone; they are also in slurmflex_machine_seconds_total.",
			"nodeset"),
		unhealthy: f.counter("slurmflex_failed_checks_total",
			"Machines that failed their health check, counted when the machine is gone; host is again if another one had failed on its host in the last day.",
			"nodeset", "host"),
	}
	e.forget()
	return e
}

// begin creates the counters of a nodeset.
func (e *events) begin(nodeset string) {
	e.queueWait.WithLabelValues(nodeset)
	e.boot.WithLabelValues(nodeset)
	for _, use := range []string{used, reused, kept, salvaged, idle} {
		e.seconds.WithLabelValues(nodeset, use)
	}
	e.reuses.WithLabelValues(nodeset)
	e.raceLost.WithLabelValues(nodeset)
	e.unhealthy.WithLabelValues(nodeset, "new")
	e.unhealthy.WithLabelValues(nodeset, "again")
	for _, cause := range scene.LossCauses() {
		e.losses.WithLabelValues(nodeset, string(cause))
	}
}

// lose counts lost machines, once the planner is certain of their loss: a list may be wrong once.
func (e *events) lose(s *scene.Scene, losses []scene.Loss) {
	found := map[string]bool{}
	for name := range e.lost {
		if set := s.Config.FlexSetOf(name); set != nil && s.Unseen(set.Region) {
			found[name] = true
		}
	}
	for _, loss := range losses {
		for _, name := range loss.Nodes {
			if loss.Certain && !e.lost[name] {
				e.losses.WithLabelValues(loss.NodeSet, string(loss.Cause)).Inc()
			}
			if loss.Certain || e.lost[name] {
				found[name] = true
			}
		}
	}
	e.lost = found
}

// forget makes the next look count as the first one.
func (e *events) forget() { e.looked, e.lost = map[string]time.Time{}, map[string]bool{} }

// spend counts the time of machines since the last look.
func (e *events) spend(s *scene.Scene) {
	held, now := heldNodes(s), s.Seen.Now
	for _, in := range history.Machines(s) {
		set, since := s.Config.FlexSetOf(in.Name), e.looked[in.Region]
		if set != nil && !since.IsZero() && !in.Stopped() {
			use := useOf(in, isReused(s, in), held[in.Name], now)
			e.seconds.WithLabelValues(set.Name, use).Add(max(0, now.Sub(scene.Later(since, in.Created))).Seconds())
		}
	}
	for _, region := range s.Regions {
		if !s.Unseen(region) {
			e.looked[region] = now
		}
	}
}

// Count counts the history's news. It may run concurrently with all other methods.
func (m *Metrics) Count(n history.News) {
	e, nodeset := &m.events, n.Entry.NodeSet
	switch n.What {
	case history.RequestFailed:
		m.failures.WithLabelValues(string(n.Cause)).Inc()
	case history.MachinesCreated:
		for range n.Entry.Count {
			e.queueWait.WithLabelValues(nodeset).Observe(float64(n.Entry.Took()))
		}
	case history.NodeRegistered:
		e.boot.WithLabelValues(nodeset).Observe(float64(n.Seconds))
	case history.MachineReused:
		e.reuses.WithLabelValues(nodeset).Inc()
	case history.LeaseEnded:
		e.raceLost.WithLabelValues(nodeset).Add(float64(n.Entry.RaceLost))
		host := "new"
		if n.Entry.BadHost {
			host = "again"
		}
		if n.Entry.Unhealthy != "" {
			e.unhealthy.WithLabelValues(nodeset, host).Inc()
		}
	}
}
