package trial

import (
	"fmt"
	"strings"
	"time"
)

// Result is the outcome of one check.
type Result struct {
	Check
	Verdict Verdict
	Saw     string // the observation, if the check failed
	Detail  string // Compute's error message for the failed check
}

// Report is the result of a trial.
type Report struct {
	Results  []Result
	Obstacle string        // why some checks were skipped; empty if none were
	Machines int           // machines that were created
	Used     time.Duration // total machine time
	Left     []string      // names of things that could not be deleted
	Unsure   error         // why it is unknown whether everything was deleted
}

func (t *Trial) report(left []string, unsure error) Report {
	r := Report{Obstacle: t.obstacle, Machines: t.machines.count, Used: t.machines.sum(), Left: left, Unsure: unsure}
	for _, c := range Checks() {
		verdict, saw := c.judge(&t.seen)
		result := Result{Check: c, Verdict: verdict}
		if verdict == Failed {
			result.Saw, result.Detail = saw.text, saw.detail
		}
		r.Results = append(r.Results, result)
	}
	return r
}

// Count returns how many checks have a verdict.
func (r Report) Count(v Verdict) (n int) {
	for _, c := range r.Results {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Good reports whether no check failed, at least one passed, and everything was deleted.
func (r Report) Good() bool {
	return r.Count(Failed) == 0 && r.Count(Passed) > 0 && len(r.Left) == 0 && r.Unsure == nil
}

// String formats the report: one line per check, the machine time, and the result.
func (r Report) String() string {
	var b strings.Builder
	for _, c := range r.Results {
		fmt.Fprintf(&b, "%-7s  %-10s  %s: %s", c.Verdict, c.Source, c.Name, c.Does)
		if c.Verdict == Failed {
			fmt.Fprintf(&b, ": expected %q, saw %q", c.Wants, c.Saw)
		}
		if c.Detail != "" {
			fmt.Fprintf(&b, " (%s)", c.Detail)
		}
		b.WriteByte('\n')
	}
	if n := r.Count(Skipped); n > 0 {
		fmt.Fprintf(&b, "skipped: %d", n)
		if r.Obstacle != "" {
			fmt.Fprintf(&b, ", because: %s", strings.Join(strings.Fields(r.Obstacle), " "))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "used: %d machine seconds (machines: %d)\n", int((r.Used+time.Second-1)/time.Second), r.Machines)
	fmt.Fprintf(&b, "trial: %d checks passed, %d failed; left behind: %s\n", r.Count(Passed), r.Count(Failed), r.leftBehind())
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
