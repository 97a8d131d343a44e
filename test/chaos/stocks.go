package chaos

import (
	"fmt"
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
		add(preemption(d.span(0, longest, "preempted after", i).Truncate(time.Second), d.oneIn(3, "all preempted", i)), "preemption", i)
	}
	return script
}

// preemption preempts the next Spot machine that has run for long enough, or all Spot machines
// at that time.
func preemption(after time.Duration, all bool) event {
	whom := "it is"
	if all {
		whom = "all are"
	}
	return happening{fmt.Sprintf("when the next Spot machine has run for %v, %s preempted", after, whom), func(w *world, _ int) {
		w.lieInWait(func() bool {
			var old []string
			longest := time.Duration(0)
			for _, name := range w.setup.slurm.Nodes {
				if boot := w.machines.of(name).boot; !boot.IsZero() && setOf(name).name == "spot" {
					old = append(old, name)
					longest = max(longest, time.Since(boot))
				}
			}
			if len(old) == 0 || longest < after {
				return false
			}
			for _, name := range old {
				if all || time.Since(w.machines.of(name).boot) == longest {
					w.watch.take(name)
					w.journal.note("machine %s is preempted: %v", name, w.cloud.PreemptVM(name))
				}
			}
			return true
		})
	}}
}
