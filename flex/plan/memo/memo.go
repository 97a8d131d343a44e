// Package memo defines the texts and names that keep slurmflex's state beyond the life of a
// process. In Slurm these are the AdminComment of jobs, the Comment, Extra and Reason of nodes, and
// the names of reservations. In Compute they are the names of groups and requests. Only this
// package writes and parses them.
package memo

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// ReasonPrefix marks the node reasons and comments that slurmflex wrote.
const ReasonPrefix = "slurmflex: "

// Lost is the prefix of the reason of a node that was set DOWN because its machine was lost.
const Lost = ReasonPrefix + "machine lost: "

// Usable is the reason of a node that slurmflex powered down and that backfill may use again. Slurm
// 22.05 and 26.05 clear the reason of such a node.
const Usable = ReasonPrefix + "powered down, and free for other jobs"

// IsOurReason reports whether slurmflex set a node's reason.
func IsOurReason(reason string) bool { return strings.HasPrefix(reason, ReasonPrefix) }

// IsLost reports whether slurmflex set a node DOWN because its machine was lost.
func IsLost(reason string) bool { return strings.HasPrefix(reason, Lost) }

// ReasonText returns a reason without ReasonPrefix.
func ReasonText(reason string) string { return strings.TrimPrefix(reason, ReasonPrefix) }

// checkPrefixes begin the Reason with which a health check drains its node. The first is that of the
// documented program, the second that of LBNL Node Health Check.
var checkPrefixes = []string{"health: ", "NHC: "}

// Checking is the result of a health check that goes on.
const Checking = "checking"

// CheckResult returns the result of a health check in a node's Reason or Comment. It reports false if
// no check wrote the text.
func CheckResult(text string) (result string, ok bool) {
	for _, prefix := range checkPrefixes {
		if result, ok = strings.CutPrefix(text, prefix); ok {
			return result, true
		}
	}
	return "", false
}

// Boots is the record of failed boots in a node's Extra.
type Boots struct {
	Failed int       // consecutive instances that did not boot
	Last   time.Time // when the last of them was created
}

const bootsForm = ReasonPrefix + "%d boots failed, the last of an instance made %s"

func (b Boots) String() string {
	return fmt.Sprintf(bootsForm, b.Failed, b.Last.UTC().Format(time.RFC3339))
}

// ParseBoots parses a node's Extra. It reports false if slurmflex did not write it.
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

// Block is the record of an admin's block in the Extra of a nodeset's nodes.
type Block struct {
	At      time.Time
	Until   time.Time // zero: until slurmflex unblock
	Cancels bool      // requests that wait for capacity are cancelled
	Why     string    // for people; may be empty
}

// blockForm matches a Block's record.
var blockForm = regexp.MustCompile(`^` + ReasonPrefix + `blocked at (\S+) until (\S+), requests (stay|are cancelled)(?:: (.+))?$`)

const untilUnblock = "unblock"

func (b Block) String() string {
	until, requests := untilUnblock, "stay"
	if !b.Until.IsZero() {
		until = b.Until.UTC().Format(time.RFC3339)
	}
	if b.Cancels {
		requests = "are cancelled"
	}
	text := fmt.Sprintf("%sblocked at %s until %s, requests %s", ReasonPrefix, b.At.UTC().Format(time.RFC3339), until, requests)
	if b.Why != "" {
		text += ": " + b.Why
	}
	return text
}

// ParseBlock parses a node's Extra. It reports false if slurmflex did not write a block into it.
func ParseBlock(extra string) (b Block, ok bool) {
	parts := blockForm.FindStringSubmatch(extra)
	if parts == nil {
		return Block{}, false
	}
	var err error
	if b.At, err = time.Parse(time.RFC3339, parts[1]); err != nil {
		return Block{}, false
	}
	if parts[2] != untilUnblock {
		if b.Until, err = time.Parse(time.RFC3339, parts[2]); err != nil {
			return Block{}, false
		}
	}
	b.Cancels, b.Why = parts[3] != "stay", parts[4]
	return b, true
}

const waitPrefix = ReasonPrefix + "waits in "

// Wait is the content of a waiting node's Comment: where the node waits, since when, and when Slurm
// last reset its ResumeTimeout timer.
type Wait struct {
	Place        string // the group, and the request if there is one
	Since, Reset time.Time
}

func (w Wait) String() string {
	return fmt.Sprintf("%s%s since %s, armed %s", waitPrefix, w.Place,
		w.Since.UTC().Format(time.RFC3339), w.Reset.UTC().Format(time.RFC3339))
}

// IsWait reports whether a node's Comment records a wait. The start of the wait may be missing.
func IsWait(comment string) bool { return strings.HasPrefix(comment, waitPrefix) }

// ParseWait parses a node's Comment. It reports false if slurmflex did not write it.
func ParseWait(comment string) (w Wait, ok bool) {
	place, rest, _ := strings.Cut(strings.TrimPrefix(comment, waitPrefix), " since ")
	since, reset, _ := strings.Cut(rest, ", armed ")
	w.Place = place
	var errs [2]error
	w.Since, errs[0] = time.Parse(time.RFC3339, since)
	w.Reset, errs[1] = time.Parse(time.RFC3339, reset)
	return w, errs == [2]error{} && comment == w.String()
}

// IsBoots reports whether a node's Extra is a record of failed boots.
func IsBoots(extra string) bool {
	_, ok := ParseBoots(extra)
	return ok
}
