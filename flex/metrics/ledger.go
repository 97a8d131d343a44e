package metrics

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slurmflex/flex/history"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// ledger counts events between passes: created machines, registered nodes, failed requests, and
// machine time. Objects that exist when a region is first read are only recorded, because their
// start is unknown or an earlier process has counted them.
type ledger struct {
	queueWait *prometheus.HistogramVec // by nodeset
	boot      *prometheus.HistogramVec // by nodeset
	seconds   *prometheus.CounterVec   // by nodeset and use
	reuses    *prometheus.CounterVec   // by nodeset
	losses    *prometheus.CounterVec   // by nodeset and cause
	raceLost  *prometheus.CounterVec   // by nodeset

	lost     map[string]int       // nodes that lost their machine, and in how many looks
	looked   map[string]time.Time // by region: the last look
	looks    int                  // number of looks
	machines map[machine]*seen    // at the last look
	failed   map[request]bool     // on record at the last look
	raced    map[string]int64     // race losses already counted, by ID of an ongoing lease
}

// machine identifies an instance, because a name may be reused.
type machine struct {
	region, zone, name string
	created            time.Time
}

// seen is the state of a machine at the last look.
type seen struct {
	registered bool   // its node has registered
	job        uint32 // the last job that reused it; 0: none
	look       int    // the last of ledger.looks that showed it
}

// request identifies a resize request.
type request struct{ region, group, name string }

func newLedger(f promauto.Factory) ledger {
	l := ledger{
		queueWait: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurmflex_queue_wait_seconds", Help: "Time from a machine's first resize request, even a failed one, to its creation.",
			Buckets: []float64{10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 345600, 604800},
		}, []string{"nodeset"}),
		boot: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurmflex_boot_seconds", Help: "Time from creating a machine to the pass that saw its node registered.",
			Buckets: []float64{30, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800},
		}, []string{"nodeset"}),
		seconds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_machine_seconds_total", Help: "Machine-seconds by what the machine was used for.",
		}, []string{"nodeset", "use"}),
		reuses: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_machine_reuses_total", Help: "Machines that got a job that they were not requested for.",
		}, []string{"nodeset"}),
		losses: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_machines_lost_total", Help: "Machines that disappeared or stopped under a job.",
		}, []string{"nodeset", "cause"}),
		raceLost: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_race_lost_machine_seconds_total",
			Help: "Machine-seconds for jobs that started in another nodeset, counted when the machine is gone or has another job.",
		}, []string{"nodeset"}),
	}
	l.forget()
	return l
}

// begin creates the counters of a nodeset.
func (l *ledger) begin(nodeset string) {
	l.queueWait.WithLabelValues(nodeset)
	l.boot.WithLabelValues(nodeset)
	for _, use := range []string{used, reused, kept, salvaged, idle} {
		l.seconds.WithLabelValues(nodeset, use)
	}
	l.reuses.WithLabelValues(nodeset)
	l.raceLost.WithLabelValues(nodeset)
	for _, cause := range scene.LossCauses() {
		l.losses.WithLabelValues(nodeset, string(cause))
	}
}

// lose counts lost machines. A loss counts if it is certain, or if two consecutive looks found it,
// because a list may be wrong once.
func (l *ledger) lose(losses []scene.Loss) {
	now := map[string]int{}
	for _, loss := range losses {
		for _, name := range loss.Nodes {
			now[name] = l.lost[name] + 1
			if loss.Certain {
				now[name] = 2
			}
			if now[name] == 2 && l.lost[name] < 2 {
				l.losses.WithLabelValues(loss.NodeSet, string(loss.Cause)).Inc()
			}
		}
	}
	l.lost = now
}

// forget makes the next look count as the first one.
func (l *ledger) forget() {
	l.lost = nil
	l.looked, l.machines, l.failed, l.raced = map[string]time.Time{}, map[machine]*seen{}, map[request]bool{}, map[string]int64{}
}

// enterRace counts the race losses of a lease since the last look. Losses that an ongoing lease
// shows at the first look were counted by an earlier process.
func (l *ledger) enterRace(e *history.Entry, ended bool) {
	was, known := l.raced[e.ID]
	if (known || ended) && e.RaceLost > was {
		l.raceLost.WithLabelValues(e.NodeSet).Add(float64(e.RaceLost - was))
	}
	l.raced[e.ID] = e.RaceLost
	if ended {
		delete(l.raced, e.ID)
	}
}

// enter counts the events since the last look, and returns the causes of failed requests.
func (l *ledger) enter(s *scene.Scene) (failures []mig.Cause) {
	failed := map[request]bool{}
	for key := range l.failed { // unread requests are not gone
		if s.Seen.Unseen[key.region] != nil {
			failed[key] = true
		}
	}
	for _, g := range s.Seen.Groups {
		for _, r := range g.Requests {
			if r.State != mig.Failed {
				continue
			}
			key := request{g.Region, g.Name, r.Name}
			if !l.failed[key] && l.knows(g.Region) {
				failures = append(failures, r.Cause)
			}
			failed[key] = true
		}
	}
	l.failed = failed
	l.enterMachines(s)
	for _, region := range s.Config.FlexRegions() {
		if s.Seen.Unseen[region] == nil {
			l.looked[region] = s.Seen.Now
		}
	}
	return failures
}

// knows reports whether an earlier look has read the region.
func (l *ledger) knows(region string) bool { return !l.looked[region].IsZero() }

// enterMachines counts the machines, and forgets those that are gone.
func (l *ledger) enterMachines(s *scene.Scene) {
	l.looks++
	held := heldNodes(s)
	for _, in := range s.Machines() {
		set := s.Config.FlexSetOf(in.Name)
		if set == nil || in.Created.IsZero() || !s.Belongs(in) {
			continue
		}
		key := machine{in.Region, in.Zone, in.Name, in.Created}
		other := otherJob(s, in)
		use, is := useOf(in, other != 0, held[in.Name], s.Seen.Now), seen{registered: isRegistered(in) && !in.Leaving(), look: l.looks}
		if use == reused {
			is.job = other
		}
		l.enterMachine(key, in, set.Name, use, is, s.Seen.Now)
	}
	maps.DeleteFunc(l.machines, func(key machine, was *seen) bool { // unread machines are not gone
		return was.look != l.looks && s.Seen.Unseen[key.region] == nil
	})
}

// enterMachine counts a machine with its use and state, and keeps the state for the next look.
func (l *ledger) enterMachine(key machine, in scene.Machine, nodeset, use string, is seen, now time.Time) {
	last := l.machines[key]
	there := last != nil
	if !there {
		last = &seen{}
		l.machines[key] = last
	}
	was := *last
	is.registered = is.registered || was.registered
	if is.job == 0 {
		is.job = was.job
	}
	*last = is
	if !l.knows(in.Region) {
		return
	}
	if !there && in.Owned != nil {
		if asked := askedAt(*in.Instance, in.Owned.Requests); !asked.IsZero() {
			l.queueWait.WithLabelValues(nodeset).Observe(in.Created.Sub(asked).Seconds())
		}
	}
	if is.registered && !was.registered {
		l.boot.WithLabelValues(nodeset).Observe(max(0, now.Sub(in.Created)).Seconds())
	}
	if is.job != was.job {
		l.reuses.WithLabelValues(nodeset).Inc()
	}
	since := l.looked[in.Region]
	if in.Created.After(since) {
		since = in.Created
	}
	if !in.Stopped() {
		l.seconds.WithLabelValues(nodeset, use).Add(max(0, now.Sub(since)).Seconds())
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
