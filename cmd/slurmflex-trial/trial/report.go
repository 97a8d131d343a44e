package trial

import (
	"cmp"
	"fmt"
	"strings"
)

// report is the result of a trial.
type report struct {
	verdicts map[verdict]int
	lines    string   // one line per check
	obstacle string   // why some checks were skipped; empty if none were
	left     []string // names of things that could not be deleted
	unsure   error    // why it is unknown whether everything was deleted
}

func (t *trial) report(left []string, unsure error) report {
	r := report{verdicts: map[verdict]int{}, obstacle: t.obstacle, left: left, unsure: unsure}
	var lines strings.Builder
	for _, c := range checks() {
		verdict, saw := c.judge(&t.seen)
		r.verdicts[verdict]++
		fmt.Fprintf(&lines, "%-7s  %-10s  %s: %s", verdict, c.source, c.name, c.does)
		if verdict == failed {
			fmt.Fprintf(&lines, ": expected %q, saw %q", c.wants, saw.text)
			if saw.detail != "" {
				fmt.Fprintf(&lines, " (%s)", saw.detail)
			}
		}
		lines.WriteByte('\n')
	}
	r.lines = lines.String()
	return r
}

// good reports whether no check failed, at least one passed, and everything was deleted.
func (r report) good() bool {
	return r.verdicts[failed] == 0 && r.verdicts[passed] > 0 && len(r.left) == 0 && r.unsure == nil
}

// String formats the report: one line per check, the machine time, and the result.
func (r report) String() string {
	text := r.lines
	if n := r.verdicts[skipped]; n > 0 {
		text += fmt.Sprintf("skipped: %d", n)
		if r.obstacle != "" {
			text += ", because: " + strings.Join(strings.Fields(r.obstacle), " ")
		}
		text += "\n"
	}
	return text + fmt.Sprintf("trial: %d checks passed, %d failed; left behind: %s\n", r.verdicts[passed], r.verdicts[failed], leftBehind(r.left, r.unsure))
}

// leftBehind describes what leave returned.
func leftBehind(left []string, unsure error) string {
	names := strings.Join(left, ", ")
	if unsure != nil {
		return fmt.Sprintf("%s (%v)", cmp.Or(names, "unknown"), unsure)
	}
	return cmp.Or(names, "nothing")
}
