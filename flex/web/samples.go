package web

import (
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// phase is a part of a wait or of a lease.
type phase struct {
	From, To history.Time
	Is       view.State // Waiting, Booting, Idle or Running
}

// phases returns the phases of a wait or of a lease, oldest first.
func phases(e *history.Entry) (all []phase) {
	if e.Kind == history.Wait {
		return []phase{{e.From, e.To, view.Waiting}}
	}
	at := e.From
	add := func(until history.Time, is view.State) {
		if until > at {
			all, at = append(all, phase{at, until, is}), until
		}
	}
	add(e.From+history.Time(e.Booting), view.Booting)
	for _, u := range e.Uses {
		add(u.From, view.Idle)
		add(u.To, view.Running)
	}
	add(e.To, view.Idle)
	return all
}

// sample is the number of waiting and running nodes at a time.
type sample struct {
	At    time.Time
	Nodes map[view.State]int // by the states of phases, without zeros
	Sum   int                // of all states
}

// samplesOf counts the nodes of waits and leases at each minute of the last day until now, from the first of
// them on. What is ongoing continues until now.
func samplesOf(entries []history.Entry, now time.Time) []sample {
	const minute = history.Time(time.Minute / time.Second)
	last := history.At(now)
	first := last
	for i := range entries {
		first = min(first, entries[i].From)
	}
	first = max(first, last-history.Time(history.Length/time.Second))
	first += (last - first) % minute
	if len(entries) == 0 {
		return nil
	}
	samples := make([]sample, (last-first)/minute+1)
	for i := range samples {
		samples[i] = sample{At: (first + history.Time(i)*minute).Time(), Nodes: map[view.State]int{}}
	}
	for i := range entries {
		e := &entries[i]
		all := phases(e)
		for p, phase := range all {
			if e.Ongoing && p == len(all)-1 {
				phase.To = last + 1
			}
			for at := max(0, (phase.From-first+minute-1)/minute); at < history.Time(len(samples)) && first+at*minute < phase.To; at++ {
				samples[at].Nodes[phase.Is] += e.Count
				samples[at].Sum += e.Count
			}
		}
	}
	return samples
}
