package plan

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/slurm"
)

// ReasonPrefix marks the node reasons and comments that are ours.
const ReasonPrefix = "slurmflex: "

// bootRecord is what a node's Extra says of its instances that did not come up.
// In Slurm it outlives every process of ours.
type bootRecord struct {
	failed int       // instances in a row
	last   time.Time // when the last of them was made
}

const bootRecordForm = ReasonPrefix + "%d boots failed, the last of an instance made %s"

func (b bootRecord) String() string {
	return fmt.Sprintf(bootRecordForm, b.failed, b.last.UTC().Format(time.RFC3339))
}

// readBootRecord reads a node's Extra. It reports false if that is not ours.
func readBootRecord(extra string) (b bootRecord, ok bool) {
	if !strings.HasPrefix(extra, ReasonPrefix) {
		return bootRecord{}, false
	}
	var at string
	if n, err := fmt.Sscanf(extra, bootRecordForm, &b.failed, &at); n != 2 || err != nil {
		return bootRecord{}, false
	}
	last, err := time.Parse(time.RFC3339, at)
	b.last = last
	return b, err == nil && b.failed > 0
}

// HasBootRecord reports whether a node's Extra is a record of failed boots.
func HasBootRecord(n slurm.Node) bool {
	_, ok := readBootRecord(n.Extra)
	return ok
}

// waitPrefix begins the comment of a node that waits.
const waitPrefix = ReasonPrefix + "waits in "

// waiting is what the comment of a node that waits says: where, since when, and
// when Slurm last began to count ResumeTimeout for it, so that this needs no
// memory of our own.
type waiting struct {
	place        string // the group, and the request if there is one
	since, armed time.Time
}

func (n waiting) String() string {
	return fmt.Sprintf("%s%s since %s, armed %s", waitPrefix, n.place,
		n.since.UTC().Format(time.RFC3339), n.armed.UTC().Format(time.RFC3339))
}

// readWaiting reads a node's comment. It reports false if that is none of ours.
func readWaiting(comment string) (n waiting, ok bool) {
	var since, armed string
	count, err := fmt.Sscanf(strings.TrimPrefix(comment, waitPrefix), "%s since %s armed %s", &n.place, &since, &armed)
	if err != nil || count != 3 {
		return waiting{}, false
	}
	var errs [2]error
	n.since, errs[0] = time.Parse(time.RFC3339, strings.TrimSuffix(since, ","))
	n.armed, errs[1] = time.Parse(time.RFC3339, armed)
	return n, errs == [2]error{} && comment == n.String()
}

// OwnComment begins every AdminComment that we write. One that begins otherwise
// is somebody else's, and stays.
const OwnComment = "flex-start: "

const warnedForm = OwnComment + "told %s: "

// Warning is the AdminComment of a job that Slurm would not requeue, from when
// its owner was told that it would be lost.
func Warning(at time.Time, text string) string {
	return fmt.Sprintf(warnedForm, at.UTC().Format(time.RFC3339)) + text
}

// WarnedAt tells when the owner of a job with that AdminComment was told that
// it would be lost. It reports false if that has not happened.
func WarnedAt(comment string) (time.Time, bool) {
	text, told := strings.CutPrefix(comment, OwnComment+"told ")
	word, _, ok := strings.Cut(text, ": ")
	at, err := time.Parse(time.RFC3339, word)
	return at, told && ok && err == nil
}

// ToldFailures is how many attempts the owner of a job with that AdminComment was
// told to have failed; 0 if none.
func ToldFailures(comment string) (n int) {
	if _, text, ok := strings.Cut(comment, "attempt "); ok && strings.HasPrefix(comment, OwnComment) {
		_, _ = fmt.Sscanf(text, "%d failed", &n)
	}
	return n
}
