package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"slurmflex/test/must"
)

// Amounts of capacity without a queue.
const (
	machineType  = "a3-highgpu-8g"
	reservation  = "h100s"
	reservedZone = "europe-west4-a"
	reserved     = 3 // machines; the nodeset has four
)

// The provisioning models without a queue.
const (
	spotModel     = "SPOT"
	standardModel = "STANDARD"
)

// stock limits a zone to a number of machines of a model for a while.
func stock(model, zone string, count int, lasts time.Duration) event {
	return happening{fmt.Sprintf("%s has room for %d %s machines, for %v", zone, count, model, lasts), func(w *world, no int) {
		must.Do(w.cloud.SetModelCapacity(zone, "", model, count))
		w.holds("stock "+model+" "+zone, no, lasts, func() { must.Do(w.cloud.SetModelCapacity(zone, "", model, -1)) })
	}}
}

// holding limits the reservation to a number of machines for a while.
func holding(count int, lasts time.Duration) event {
	return happening{fmt.Sprintf("reservation %s is of %d machines, for %v", reservation, count, lasts), func(w *world, no int) {
		hold := func(n int) { must.Do(w.cloud.SetReservation(reservation, reservedZone, machineType, n)) }
		hold(count)
		w.holds("reservation", no, lasts, func() { hold(reserved) })
	}}
}

// stocks returns a day's changes of capacity without a queue, and its preemptions of Spot
// machines.
func (d dice) stocks() (script []appointment) {
	add := func(e event, about ...any) {
		at := d.span(0, storm, append([]any{"stock"}, about...)...)
		script = append(script, appointment{at: at, event: e})
	}
	for i := range d.below(4, "stocks") {
		lasts, room := d.minutes(5, 60, "stock lasts", i), d.below(3, "stock room", i)
		switch model := pick(d, []string{spotModel, spotModel, standardModel, reservation}, "stock of", i); model {
		case reservation:
			add(holding(room, lasts), i)
		default:
			for _, zone := range zones()[:2] { // bulk insert uses either zone
				add(stock(model, zone, room, lasts), i)
			}
		}
	}
	for i := range d.number(1, 4, "preemptions") {
		longest := pick(d, []time.Duration{time.Minute, 20 * time.Minute}, "preempted within", i)
		add(preemption{d.span(0, longest, "preempted after", i).Truncate(time.Second), d.oneIn(3, "all preempted", i)}, "preemption", i)
	}
	return script
}

// preemption preempts the next Spot machine that has run for long enough, or all Spot machines
// at that time.
type preemption struct {
	after time.Duration
	all   bool
}

func (e preemption) String() string {
	if e.all {
		return fmt.Sprintf("when the next Spot machine has run for %v, all are preempted", e.after)
	}
	return fmt.Sprintf("when the next Spot machine has run for %v, it is preempted", e.after)
}

func (e preemption) strike(w *world, _ int) { w.preempts.lieInWait(e) }

// preemptions are the preemptions that wait for their machines.
type preemptions struct {
	mu      sync.Mutex
	waiting []preemption
}

func (p *preemptions) lieInWait(e preemption) {
	defer locked(&p.mu)()
	p.waiting = append(p.waiting, e)
}

// calm ends all preemptions.
func (p *preemptions) calm() {
	defer locked(&p.mu)()
	p.waiting = nil
}

// look preempts machines that have run for long enough, one per second.
func (p *preemptions) look(w *world) {
	defer locked(&p.mu)()
	var old []string
	longest := time.Duration(0)
	for _, name := range w.setup.slurm.Nodes {
		if boot := w.machines.of(name).boot; !boot.IsZero() && setOf(name).name == "spot" {
			old = append(old, name)
			longest = max(longest, time.Since(boot))
		}
	}
	i := slices.IndexFunc(p.waiting, func(e preemption) bool { return len(old) > 0 && longest >= e.after })
	if i < 0 {
		return
	}
	e := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	for _, name := range old {
		if e.all || time.Since(w.machines.of(name).boot) == longest {
			w.watch.take(name)
			w.journal.note("machine %s is preempted: %v", name, w.cloud.PreemptVM(name))
		}
	}
}
