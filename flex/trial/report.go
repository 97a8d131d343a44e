package trial

import (
	"fmt"
	"strings"
	"time"
)

// Finding is the result for one fact.
type Finding struct {
	Fact
	Verdict Verdict
	Saw     string // the observation, if it differs from the expectation
	Detail  string // Compute's error message for the difference
}

// Report is the result of a trial.
type Report struct {
	Findings []Finding
	Obstacle string        // why some facts were not tried; empty if all were
	Machines int           // machines that were created
	Used     time.Duration // total machine time
	Left     []string      // names of things that could not be deleted
	Unsure   error         // why it is unknown whether everything was deleted
}

func (t *Trial) report(left []string, unsure error) Report {
	r := Report{Obstacle: t.obstacle, Machines: t.machines.count, Used: t.machines.sum(), Left: left, Unsure: unsure}
	for _, f := range Facts() {
		verdict, saw := f.judge(&t.seen)
		found := Finding{Fact: f, Verdict: verdict}
		if verdict == Differed {
			found.Saw, found.Detail = saw.text, saw.detail
		}
		r.Findings = append(r.Findings, found)
	}
	return r
}

// Count returns how many facts have a verdict.
func (r Report) Count(v Verdict) (n int) {
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Good reports whether no fact failed, at least one passed, and everything was deleted.
func (r Report) Good() bool {
	return r.Count(Differed) == 0 && r.Count(Held) > 0 && len(r.Left) == 0 && r.Unsure == nil
}

// String formats the report: one line per fact, the machine time, and the result.
func (r Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-9s  %-10s  %s: %s", f.Verdict, f.Mark, f.Name, f.Does)
		if f.Verdict == Differed {
			fmt.Fprintf(&b, ": expected %q, saw %q", f.Wants, f.Saw)
		}
		if f.Detail != "" {
			fmt.Fprintf(&b, " (%s)", f.Detail)
		}
		b.WriteByte('\n')
	}
	if n := r.Count(NotTried); n > 0 {
		fmt.Fprintf(&b, "not tried: %d", n)
		if r.Obstacle != "" {
			fmt.Fprintf(&b, ", because: %s", strings.Join(strings.Fields(r.Obstacle), " "))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "used: %d machine seconds (machines: %d)\n", int((r.Used+time.Second-1)/time.Second), r.Machines)
	fmt.Fprintf(&b, "trial: %d facts held, %d differed; left behind: %s\n", r.Count(Held), r.Count(Differed), r.leftBehind())
	return b.String()
}

func (r Report) leftBehind() string {
	switch {
	case len(r.Left) > 0 && r.Unsure != nil:
		return fmt.Sprintf("%s (%v)", strings.Join(r.Left, ", "), r.Unsure)
	case len(r.Left) > 0:
		return strings.Join(r.Left, ", ")
	case r.Unsure != nil:
		return fmt.Sprintf("unknown (%v)", r.Unsure)
	}
	return "nothing"
}
