// Package memo has the texts and names in which slurmflex remembers what must outlive
// a process: in Slurm the AdminComment of jobs, the Comment, Extra and Reason of nodes
// and the names of reservations, in Compute the names of groups and requests. Each is
// written and read here and nowhere else.
package memo

import (
	"fmt"
	"strings"
	"time"
)

// ReasonPrefix marks the node reasons and comments that are ours.
const ReasonPrefix = "slurmflex: "

// Lost begins the reason of a node that was set down because its machine is lost.
const Lost = ReasonPrefix + "machine lost: "

// Usable is the reason of a node that was powered down by slurmflex and that backfill uses again.
// Slurm 22.05 and 26.05 clear the reason of such a node.
const Usable = ReasonPrefix + "powered down, and free for other jobs"

// IsOurReason reports whether slurmflex has given a node its reason.
func IsOurReason(reason string) bool { return strings.HasPrefix(reason, ReasonPrefix) }

// IsLost reports whether slurmflex has set a node down because its machine is lost.
func IsLost(reason string) bool { return strings.HasPrefix(reason, Lost) }

// ReasonText returns what a reason of ours says.
func ReasonText(reason string) string { return strings.TrimPrefix(reason, ReasonPrefix) }

// Boots is what a node's Extra says of its instances that did not come up.
type Boots struct {
	Failed int       // instances in a row
	Last   time.Time // when the last of them was made
}

const bootsForm = ReasonPrefix + "%d boots failed, the last of an instance made %s"

func (b Boots) String() string {
	return fmt.Sprintf(bootsForm, b.Failed, b.Last.UTC().Format(time.RFC3339))
}

// ParseBoots reads a node's Extra. It reports false if that is not ours.
func ParseBoots(extra string) (b Boots, ok bool) {
	if !strings.HasPrefix(extra, ReasonPrefix) {
		return Boots{}, false
	}
	var at string
	if n, err := fmt.Sscanf(extra, bootsForm, &b.Failed, &at); n != 2 || err != nil {
		return Boots{}, false
	}
	last, err := time.Parse(time.RFC3339, at)
	b.Last = last
	return b, err == nil && b.Failed > 0
}

const waitPrefix = ReasonPrefix + "waits in "

// Wait is what the Comment of a node that waits says: where, since when, and when Slurm
// last began to count ResumeTimeout for it.
type Wait struct {
	Place        string // the group, and the request if there is one
	Since, Armed time.Time
}

func (w Wait) String() string {
	return fmt.Sprintf("%s%s since %s, armed %s", waitPrefix, w.Place,
		w.Since.UTC().Format(time.RFC3339), w.Armed.UTC().Format(time.RFC3339))
}

// IsWait reports whether a node's Comment says that it waits, though perhaps not since when.
func IsWait(comment string) bool { return strings.HasPrefix(comment, waitPrefix) }

// ParseWait reads a node's Comment. It reports false if that is not ours.
func ParseWait(comment string) (w Wait, ok bool) {
	place, rest, _ := strings.Cut(strings.TrimPrefix(comment, waitPrefix), " since ")
	since, armed, _ := strings.Cut(rest, ", armed ")
	w.Place = place
	var errs [2]error
	w.Since, errs[0] = time.Parse(time.RFC3339, since)
	w.Armed, errs[1] = time.Parse(time.RFC3339, armed)
	return w, errs == [2]error{} && comment == w.String()
}

// IsBoots reports whether a node's Extra is a record of failed boots.
func IsBoots(extra string) bool {
	_, ok := ParseBoots(extra)
	return ok
}
