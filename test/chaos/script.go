package chaos

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// newDay writes the script of a seed.
func newDay(seed uint64) day {
	d := dice(seed)
	var script []appointment
	add := func(at time.Duration, e event) {
		script = append(script, appointment{at: at, event: e})
	}
	jobs := d.number(10, 28, "jobs")
	relays := d.relays()
	for _, r := range relays {
		script = append(script, r.script(d)...)
	}
	script = append(script, d.tears()...)
	for job := 1; job <= jobs; job++ {
		at := d.span(0, storm, "submit", job)
		e := randomJob(d, job)
		if slices.ContainsFunc(relays, func(r relay) bool { return r.crowds(e, at) }) {
			continue
		}
		add(at, e)
		if e.tasks > 0 && d.oneIn(2, "task held", job) {
			add(at+d.span(time.Second, storm/8, "task held", job, "when"), holdTask(job, d.below(e.tasks, "task held", job, "task")))
		}
		for i := range d.below(3, "orders", job) {
			verbs := []verb{cancel, cancel, cancel, requeue, requeueHold, release, raise, lower, prefer, shrink, exclude, widen, move}
			if d.oneIn(2, "ordered", job, i) {
				soon := pick(d, []time.Duration{3 * time.Minute, 3 * time.Minute, storm / 3}, "how soon", job, i)
				add(at+d.span(time.Second, soon, "order", job, i), order(job, pick(d, verbs, "verb", job, i)))
			}
		}
	}
	for i := range d.below(3, "jobs for ever") {
		at := d.span(0, storm/2, "ever", i)
		add(at, waitsForEver(d, i))
		add(at+d.span(time.Minute, storm/2, "ever ends", i), order(firstEver+i, cancel))
	}
	for _, zone := range zones() {
		if d.oneIn(2, "scarce", zone) {
			add(d.span(0, storm/4, "scarce", zone, "when"), capacity(zone, d.below(5, "scarce", zone, "room"), d.minutes(30, 90, "scarce", zone, "lasts")))
		}
	}
	script = append(script, d.stocks()...)
	for i := range d.number(4, 26, "troubles") {
		add(d.span(0, storm, "trouble", i), d.trouble(i))
	}
	for i := range script {
		script[i].at = script[i].at.Truncate(time.Second)
	}
	script = slices.DeleteFunc(script, func(a appointment) bool { return a.at >= storm })
	slices.SortStableFunc(script, func(a, b appointment) int { return cmp.Compare(a.at, b.at) })
	for i := range script {
		script[i].no = i + 1
	}
	return day{seed, script}
}

// trouble returns a random fault.
func (d dice) trouble(i int) event {
	lasts := func(least, most int) time.Duration { return d.minutes(least, most, "lasts", i) }
	node := func() string {
		set := pick(d, nodeSets(), "set", i)
		return fmt.Sprintf("%s-%s-%d", cluster, set.name, d.below(set.static+set.dynamic, "node", i))
	}
	sick := func(all []ailment, calls []string) sickness {
		return sickness{
			pick(d, all, "ailment", i), pick(d, calls, "calls", i), pick(d, []int{1, 2, 4, 8}, "one in", i), lasts(1, 20),
		}
	}
	switch d.below(35, "kind of trouble", i) {
	case 0, 1:
		return capacity(pick(d, zones(), "zone", i), d.below(4, "room", i), lasts(5, 90))
	case 2:
		return quota(pick(d, []string{us, europe}, "region", i), pick(d, quotas(), "quota", i), float64(d.below(3, "limit", i)), lasts(5, 60))
	case 3, 4:
		return failRequest(d.below(3, "nth", i), pick(d, failureCodes(), "code", i))
	case 5:
		return refuseCreation(pick(d, creations(), "method", i), pick(d, refusalCodes(), "code", i), lasts(1, 15))
	case 6:
		return lag(pick(d, lists(), "method", i), d.span(time.Second, 30*time.Second, "behind", i).Truncate(time.Second), lasts(1, 15))
	case 7:
		if d.oneIn(3, "dead", i) {
			return deadZone(pick(d, zones(), "dead zone", i), lasts(1, 60))
		}
		return unreachable(pick(d, lists(), "list", i), pick(d, append(zones(), us, europe), "place", i), lasts(1, 15))
	case 8:
		return outage(pick(d, zones(), "zone", i))
	case 9:
		return loseVM(d.below(6, "nth", i), pick(d, []loss{vanishes, vanishes, stops, hostFails, maintained}, "loss", i))
	case 10:
		return mute(lasts(5, 40))
	case 11:
		return crash(node(), lasts(1, 20))
	case 12, 13:
		return apiFault(sick(apiAilments(), append([]string{everything, everything}, apiCalls()...)))
	case 14:
		return slurmFault(sick(slurmAilments(), []string{everything, everything, "update nodes", "show nodes", "squeue", "show jobs", "create reservation", "hold"}))
	case 15:
		return slurmDown(lasts(1, 15), pick(d, []comeback{reached, restarted, reached, restarted, emptied}, "comes back", i))
	case 16, 17:
		return kill{d.below(40, "calls", i), d.oneIn(2, "acts", i), d.span(3*time.Second, 10*time.Minute, "lasts", i).Truncate(time.Second)}
	case 18:
		return reload(edition(d.number(1, 3, "edition", i)), d.span(time.Second, 2*time.Minute, "lasts", i).Truncate(time.Second))
	case 19:
		return d.company(i, lasts)
	case 20:
		return hookFault(pick(d, []hookFate{lost, twice, reordered}, "fate", i), lasts(5, 60))
	case 21, 22:
		const day = 24 * time.Hour
		return clockJump(pick(d, []time.Duration{-4 * time.Minute, -time.Minute, 30 * time.Second, 4 * time.Minute, day, -day}, "by", i), lasts(1, 20))
	case 23, 24:
		list := pick(d, []string{"squeue", "show nodes", "show reservations"}, "spoilt list", i)
		return spoil{list, pick(d, []damage{farTime, noTime, short, rubbish, nobody, again}, "damage", i), d.below(30, "row", i), lasts(1, 20)}
	case 25:
		return squat(node(), pick(d, []tenancy{byHand, stopped}, "tenancy", i), lasts(5, 60))
	case 26:
		return squat(fmt.Sprintf("%s-a3-pool-%d", cluster, d.below(4, "alike", i)), alikes, lasts(15, 60))
	case 27:
		return hangup(edition(d.number(1, 3, "edition", i)), d.oneIn(2, "half", i))
	case 28:
		return stubborn(node(), lasts(30, 80))
	case 29:
		return unhealthy(lasts(5, 40))
	case 30, 31:
		return failCheck(node())
	}
	return d.randomLie(i, node(), lasts)
}

// zones returns the zones of the nodesets.
func zones() []string {
	return []string{"us-central1-a", "us-central1-b", "europe-west4-a", "europe-west4-b"}
}

// company returns an action of another party beside the daemon.
func (d dice) company(i int, lasts func(least, most int) time.Duration) event {
	switch d.below(9, "company", i) {
	case 8:
		return maintain(pick(d, nodeSets(), "set", i), d.minutes(0, 60, "ahead", i), lasts(5, 60))
	case 1:
		return cron("gc")
	case 5:
		return cron(adopt)
	case 2:
		return cron("sync")
	case 3:
		set := pick(d, nodeSets(), "set", i)
		return powerUp(fmt.Sprintf("%s-%s-%d", cluster, set.name, d.below(set.static+set.dynamic, "node", i)))
	case 6:
		return block(pick(d, nodeSets(), "set", i).name, d.below(2, "cancels", i) == 0, lasts(5, 40))
	case 4:
		return takeover(lasts(3, 30))
	}
	return unblock(pick(d, nodeSets(), "set", i).name)
}

// dice makes all random decisions of a day. A draw depends only on the day's seed and on its
// subject, never on earlier draws. The reason: a bubble's goroutines run in no fixed order,
// and removing an event from a script must not change the results of the others.
type dice uint64

// roll returns a number determined by seed and subject.
func (d dice) roll(about ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, uint64(d))
	for _, a := range about {
		fmt.Fprintf(h, "|%v", a)
	}
	return mixed(h.Sum64())
}

// mixed spreads a hash over all its bits. Source: the finalizer of splitmix64.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number from 0 to n-1.
func (d dice) below(n int, about ...any) int {
	return int(d.roll(about...) % uint64(n))
}

// number returns a number from least to most.
func (d dice) number(least, most int, about ...any) int {
	return least + d.below(most-least+1, about...)
}

// oneIn returns true once in n.
func (d dice) oneIn(n int, about ...any) bool { return d.below(n, about...) == 0 }

// span returns a duration from least to just below most. It has nanosecond resolution, so that
// two events rarely share an instant.
func (d dice) span(least, most time.Duration, about ...any) time.Duration {
	return least + time.Duration(d.roll(about...)%uint64(most-least))
}

// minutes returns a whole number of minutes from least to most.
func (d dice) minutes(least, most int, about ...any) time.Duration {
	return time.Duration(d.number(least, most, about...)) * time.Minute
}

// pick returns one of the choices.
func pick[T any](d dice, choices []T, about ...any) T {
	return choices[d.below(len(choices), about...)]
}
