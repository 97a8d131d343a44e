package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slurmflex/flex/history"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// events counts events between passes: created machines, registered nodes, failed requests, and
// machine time.
type events struct {
	queueWait *prometheus.HistogramVec // by nodeset
	boot      *prometheus.HistogramVec // by nodeset
	seconds   *prometheus.CounterVec   // by nodeset and use
	reuses    *prometheus.CounterVec   // by nodeset
	losses    *prometheus.CounterVec   // by nodeset and cause
	raceLost  *prometheus.CounterVec   // by nodeset
	unhealthy *prometheus.CounterVec   // by nodeset and whether an earlier machine on the host was, too

	machines history.Book[history.Machine, followed]
	failed   history.Book[request, struct{}]
	lost     history.Book[string, int] // by node: the consecutive looks that found the loss
	raced    map[string]int64          // race losses already counted, by ID of an ongoing lease
}

// followed is what looks have shown of a machine.
type followed struct {
	registered bool   // its node has registered
	job        uint32 // the last job that reused it; 0: none
}

// request identifies a resize request.
type request struct{ region, group, name string }

func newEvents(f promauto.Factory) events {
	e := events{
		queueWait: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurmflex_queue_wait_seconds", Help: "Time from a machine's first resize request, even a failed one, to its creation.",
			Buckets: []float64{10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 345600, 604800},
		}, []string{"nodeset"}),
		boot: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurmflex_boot_seconds", Help: "Time from creating a machine to the pass that saw its node registered.",
			Buckets: []float64{30, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800},
		}, []string{"nodeset"}),
		seconds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_machine_seconds_total", Help: "Machine-seconds by use: used (by the job that the machine was requested for; on a static node by any job), reused (by another job), kept (idle within keep_idle), salvaged (kept for a job that lost other machines), idle (all other time, boot and shutdown included).",
		}, []string{"nodeset", "use"}),
		reuses: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_machine_reuses_total", Help: "Machines that got a job that they were not requested for.",
		}, []string{"nodeset"}),
		losses: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_machines_lost_total", Help: "Machines that disappeared or stopped under a job, by cause: lease_ended, maintenance, host_error, preempted, stopped, gone.",
		}, []string{"nodeset", "cause"}),
		raceLost: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_race_lost_machine_seconds_total",
			Help: "Machine-seconds for jobs that started in another nodeset, counted when the machine is gone or has another job; they are also in slurmflex_machine_seconds_total.",
		}, []string{"nodeset"}),
		unhealthy: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_failed_checks_total",
			Help: "Machines that failed their health check, counted when the machine is gone; host is again if another one had failed on its host in the last day.",
		}, []string{"nodeset", "host"}),
	}
	e.forget()
	e.raced = map[string]int64{}
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

// lose counts lost machines. A loss counts if it is certain, or if two consecutive looks found it,
// because a list may be wrong once.
func (e *events) lose(s *scene.Scene, losses []scene.Loss) {
	for _, loss := range losses {
		for _, name := range loss.Nodes {
			looks, _ := e.lost.Show(name, loss.Region)
			counted := *looks >= 2
			*looks++
			if loss.Certain {
				*looks = max(*looks, 2)
			}
			if *looks >= 2 && !counted {
				e.losses.WithLabelValues(loss.NodeSet, string(loss.Cause)).Inc()
			}
		}
	}
	e.lost.Close(s, func(string, *int) bool { return true }) // looks must be consecutive
}

// forget makes the next look count as the first one. Race losses stay counted: the history, too,
// continues with the leases that it has seen.
func (e *events) forget() {
	e.machines, e.failed, e.lost = history.Book[history.Machine, followed]{}, history.Book[request, struct{}]{}, history.Book[string, int]{}
}

// Leased records a lease of the history that is ongoing or has ended. It may run concurrently with
// all other methods.
func (m *Metrics) Leased(e *history.Entry, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events.enterRace(e, ended)
	if ended {
		m.events.enterCheck(e)
	}
}

// enterCheck counts the failed health check of a machine that is gone.
func (e *events) enterCheck(lease *history.Entry) {
	host := "new"
	if lease.BadHost {
		host = "again"
	}
	if lease.Unhealthy != "" {
		e.unhealthy.WithLabelValues(lease.NodeSet, host).Inc()
	}
}

// enterRace counts the race losses of a lease since the last look. Losses that an ongoing lease
// shows at the first look were counted by an earlier process.
func (e *events) enterRace(lease *history.Entry, ended bool) {
	was, known := e.raced[lease.ID]
	if (known || ended) && lease.RaceLost > was {
		e.raceLost.WithLabelValues(lease.NodeSet).Add(float64(lease.RaceLost - was))
	}
	e.raced[lease.ID] = lease.RaceLost
	if ended {
		delete(e.raced, lease.ID)
	}
}

// enter counts the events since the last look, and returns the causes of failed requests.
func (e *events) enter(s *scene.Scene) (failures []mig.Cause) {
	for _, g := range s.Seen.Groups {
		for _, r := range g.Requests {
			if r.State != mig.Failed {
				continue
			}
			if _, isNew := e.failed.Show(request{g.Region, g.Name, r.Name}, g.Region); isNew {
				failures = append(failures, r.Cause)
			}
		}
	}
	e.failed.Close(s, nil)
	held := heldNodes(s)
	for key, in := range history.Machines(s) {
		if set := s.Config.FlexSetOf(in.Name); set != nil {
			e.enterMachine(s, key, in, set.Name, held[in.Name])
		}
	}
	e.machines.Close(s, nil)
	return failures
}

// enterMachine counts a machine's events, and its time since the last look. held is true if a job
// that has lost other machines keeps it.
func (e *events) enterMachine(s *scene.Scene, key history.Machine, in scene.Machine, nodeset string, held bool) {
	of, isNew := e.machines.Show(key, in.Region)
	was, now, other := *of, s.Seen.Now, otherJob(s, in)
	use := useOf(in, other != 0, held, now)
	of.registered = was.registered || isRegistered(in) && !in.Leaving()
	if use == reused {
		of.job = other
	}
	since := e.machines.Last(in.Region)
	if since.IsZero() {
		return
	}
	if isNew && in.Owned != nil {
		if asked := askedAt(*in.Instance, in.Owned.Requests); !asked.IsZero() {
			e.queueWait.WithLabelValues(nodeset).Observe(in.Created.Sub(asked).Seconds())
		}
	}
	if of.registered && !was.registered {
		e.boot.WithLabelValues(nodeset).Observe(max(0, now.Sub(in.Created)).Seconds())
	}
	if of.job != was.job {
		e.reuses.WithLabelValues(nodeset).Inc()
	}
	if !in.Stopped() {
		e.seconds.WithLabelValues(nodeset, use).Add(max(0, now.Sub(scene.Later(since, in.Created))).Seconds())
	}
}

// askedAt returns when the machine was first requested: when the request was made that created it,
// or the first of the failed requests for it immediately before. It returns zero if that request is
// no longer on record.
func askedAt(in mig.Instance, requests []mig.Request) (at time.Time) {
	var since time.Time // start of the current series of failed attempts
	for _, r := range requests {
		switch {
		case !r.Names(in.Name) || r.Created.After(in.Created):
		case r.State == mig.Cancelled:
			since = time.Time{}
		case since.IsZero():
			since = r.Created
			fallthrough
		default:
			if r.State != mig.Failed {
				at, since = since, time.Time{}
			}
		}
	}
	return at
}
