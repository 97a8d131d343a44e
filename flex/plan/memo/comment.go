package memo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OwnComment begins every AdminComment that we write. One that begins otherwise
// is somebody else's, and stays.
const OwnComment = "flex-start: "

const warnedForm = OwnComment + "told %s: "

// Warning is the AdminComment of a job that Slurm would not requeue, from when
// its owner was told that it would be lost.
func Warning(at time.Time, text string) string {
	return fmt.Sprintf(warnedForm, at.UTC().Format(time.RFC3339)) + text
}

// WarnedAt says when the owner of a job with that AdminComment was told that
// it would be lost. It reports false if that has not happened.
func WarnedAt(comment string) (time.Time, bool) {
	text, told := strings.CutPrefix(comment, OwnComment+"told ")
	word, _, ok := strings.Cut(text, ": ")
	at, err := time.Parse(time.RFC3339, word)
	return at, told && ok && err == nil
}

const failedForm = "attempt %d failed"

// Failed says how many attempts have failed in a row, and why the last one did.
func Failed(attempts int, why string) string { return fmt.Sprintf(failedForm+" %s", attempts, why) }

// ParseFailed is how many attempts an AdminComment of ours says to have failed; 0 if none.
func ParseFailed(comment string) (attempts int) {
	if at := strings.Index(comment, "attempt "); at >= 0 && strings.HasPrefix(comment, OwnComment) {
		_, _ = fmt.Sscanf(comment[at:], failedForm, &attempts)
	}
	return attempts
}

// Short is what a job is told that has lost a machine and whose others are not held.
const Short = "; the others go back, because the job's time limit does not fit the rest of their lease"

// What a job is told of nodes that it has, which is over when it has none.
const (
	Waiting = "waiting "
	Moving  = "moving to kept machines "
	Held    = "held for it after a loss: " // machines that a salvage holds
	There   = "its nodes are there, until "
	End     = "its nodes end at "
	Sends   = "; slurmflex sends it " // after End: the signal that follows
	Warned  = "; warned at "          // after End: when the job was signalled
	Waited  = "; waited "             // after There and End: how long, and for what
	Back    = "its nodes went back to Slurm; slurmflex requests machines again once Slurm allocates nodes to the job"
)

// Yielded ends the AdminComment of a job that lost its place in the queue to another request.
const Yielded = "; it lost its place in Google's queue to a request of higher priority"

// HasYielded reports whether an AdminComment of ours contains Yielded.
func HasYielded(comment string) bool {
	return strings.HasPrefix(comment, OwnComment) && strings.Contains(comment, Yielded)
}

// Sent returns a job's AdminComment after its warning by a signal, or by its terminal if the
// signal is empty.
func Sent(text string, at time.Time, signal string) string {
	text += Warned + at.UTC().Format(time.RFC3339)
	if signal != "" {
		text += " with " + signal
	}
	return text
}

// WasSent returns when a running job with that AdminComment was signalled, and the signal. It
// reports false if the job was not signalled.
func WasSent(comment string) (at time.Time, signal string, sent bool) {
	_, text, warned := strings.Cut(comment, Warned)
	word, signal, sent := strings.Cut(text, " with ")
	at, err := time.Parse(time.RFC3339, word)
	return at, signal, warned && sent && err == nil && strings.HasPrefix(comment, OwnComment)
}

// IsOfNodes reports whether an AdminComment of ours speaks of nodes that the job has.
func IsOfNodes(comment string) bool {
	text, ours := strings.CutPrefix(comment, OwnComment)
	return ours && slices.ContainsFunc([]string{Waiting, Moving, Held, There, End}, func(begin string) bool { return strings.HasPrefix(text, begin) })
}
