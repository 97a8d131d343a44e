package chaos

import (
	"slices"
	"time"
)

// firstRelay is the script's number of the first job of a relay.
const firstRelay = 500

// relay is a series of jobs on warm machines: some jobs run, then capacity ends, and later
// jobs wait that fit the first jobs' machines.
type relay struct {
	no   int
	set  nodeSet
	from time.Duration
}

// relays returns the relays of a day, if the setup keeps machines.
func (d dice) relays() (all []relay) {
	if newSetup(d).keep == 0 {
		return nil
	}
	sets := slices.DeleteFunc(nodeSets(), func(s nodeSet) bool { return !s.exclusive || s.placement })
	for i := range d.number(1, 2, "relays") {
		all = append(all, relay{i, pick(d, append(sets, sets[0]), "relay", i), d.span(0, storm/2, "relay begins", i)})
	}
	return all
}

// crowds reports whether a job would compete for the nodes of the relay's jobs.
func (r relay) crowds(e submit, at time.Duration) bool {
	return (e.partition == r.set.name || slices.Contains(e.also, r.set.name) || e.with == r.set.name) && at > r.from-80*time.Minute && at < r.from+15*time.Minute
}

func (r relay) script(d dice) []appointment {
	i, set, from := r.no, r.set, r.from
	widest := min(3, set.dynamic-1)
	job := firstRelay + 10*i
	after := func(least, most time.Duration, about string, j int) time.Duration {
		return from + d.span(least, most, about, i, j)
	}
	script := []appointment{{at: from, event: submit{
		job: job, partition: set.name, nodes: widest, limit: 30 * time.Minute, run: d.minutes(8, 16, "relay runs", i),
	}}}
	for j, zone := range set.zones {
		script = append(script, appointment{at: after(6*time.Minute, 7*time.Minute, "relay full", j), event: capacity(zone, 0, d.minutes(40, 70, "relay full for", i))})
	}
	for j := range d.number(1, 3, "relay waits", i) {
		script = append(script, appointment{at: after(7*time.Minute, 9*time.Minute, "relay waits at", j), event: submit{
			job: job + 1 + j, partition: set.name, nodes: d.number(1, widest, "relay width", i, j),
			limit: d.minutes(10, 25, "relay limit", i, j), run: d.minutes(2, 9, "relay run", i, j),
		}})
	}
	return script
}
