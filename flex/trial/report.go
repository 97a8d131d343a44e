package trial

import (
	"fmt"
	"strings"
	"time"
)

// Finding is what became of a fact.
type Finding struct {
	Fact
	Verdict Verdict
	Saw     string // what was seen where it differed
	Detail  string // Compute's own words there
}

// Report is what a trial has found.
type Report struct {
	Findings []Finding
	Obstacle string        // why some facts were not tried; empty if all were
	Machines int           // that came
	Used     time.Duration // how long they were there in total
	Left     []string      // what could not be deleted
	Unsure   error         // why it cannot be said that all is deleted
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

// Count is how many facts got a verdict.
func (r Report) Count(v Verdict) (n int) {
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Good reports whether no fact differed, at least one held, and nothing is left.
func (r Report) Good() bool {
	return r.Count(Differed) == 0 && r.Count(Held) > 0 && len(r.Left) == 0 && r.Unsure == nil
}

// String is a line for each fact, what the trial has used, and the result.
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
