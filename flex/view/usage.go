package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"slurmflex/mig"
)

// Machines is a number of machines of one type.
type Machines struct {
	Type  string `json:"machine_type,omitempty"` // empty if unknown
	Count int    `json:"count"`
}

// Use sums up a job's story: its waits in Slurm's queue and its runs.
type Use struct {
	Waited Seconds `json:"waited_seconds"` // as far as it was recorded
	Ran    Seconds `json:"ran_seconds"`    // in all runs
	// Machines are those of the last run.
	Machines []Machines `json:"machines"`
	// MachineHours and GPUHours count only while the job ran. GPUHours is 0 if a machine type is
	// unknown.
	MachineHours float64 `json:"machine_hours"`
	GPUHours     float64 `json:"gpu_hours"`
}

// use sums up the events until the job's end, or until now if the job is in the queue.
func (p *Past) use(now time.Time) *Use {
	u := &Use{Machines: []Machines{}}
	since, runs, known := p.Events[0].At, false, true
	pass := func(until time.Time) {
		took := max(until.Sub(since), 0)
		since = until
		if !runs {
			u.Waited += Seconds(took)
			return
		}
		u.Ran += Seconds(took)
		for _, m := range u.Machines {
			machine, ok := mig.KnownMachine(m.Type)
			known = known && ok
			u.MachineHours += took.Hours() * float64(m.Count)
			u.GPUHours += took.Hours() * float64(m.Count*machine.GPUs)
		}
	}
	for _, e := range p.Events {
		if e.Kind == EventRunning || e.Kind == EventRequeued {
			pass(e.At)
			runs = e.Kind == EventRunning
		}
		if e.Kind == EventRunning {
			u.Machines = append([]Machines{}, e.Machines...)
		}
	}
	pass(cmp.Or(p.EndedAt, now))
	if !known {
		u.GPUHours = 0
	}
	return u
}

// String sums up the job in a few words: "waited 2h10m, ran 3h50m on 2 × a3-megagpu-8g, 61.4 GPU
// hours".
func (u *Use) String() string {
	var parts []string
	if u.Waited > 0 || u.Ran == 0 {
		parts = append(parts, "waited "+Span(time.Duration(u.Waited)))
	}
	if u.Ran == 0 {
		return strings.Join(append(parts, "no run recorded"), ", ")
	}
	var on []string
	for _, m := range u.Machines {
		if m.Type == "" {
			on = append(on, Count(m.Count, "node"))
		} else {
			on = append(on, fmt.Sprintf("%d × %s", m.Count, m.Type))
		}
	}
	text := "ran " + Span(time.Duration(u.Ran))
	if len(on) > 0 {
		text += " on " + Printable(strings.Join(on, " + "))
	}
	parts = append(parts, text)
	switch {
	case u.GPUHours > 0:
		parts = append(parts, fmt.Sprintf("%.1f GPU hours", u.GPUHours))
	case u.MachineHours > 0:
		parts = append(parts, fmt.Sprintf("%.1f machine hours", u.MachineHours))
	}
	return strings.Join(parts, ", ")
}
