package memo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OwnComment is the prefix of every AdminComment that slurmflex writes. slurmflex never overwrites
// an AdminComment with another prefix.
const OwnComment = "flex-start: "

// IsOurs reports whether slurmflex wrote an AdminComment.
func IsOurs(comment string) bool { return strings.HasPrefix(comment, OwnComment) }

// MayWrite reports whether slurmflex may overwrite an AdminComment: it is ours or empty.
func MayWrite(comment string) bool { return comment == "" || IsOurs(comment) }

// Text returns an AdminComment without OwnComment.
func Text(comment string) string { return strings.TrimPrefix(comment, OwnComment) }

// deed is what happened to a job that lost its nodes.
type deed string

// The deeds. An AdminComment starts with one of them.
const (
	Requeued  deed = "requeued"
	Again     deed = "machines requested again" // for a job that waits PENDING
	JobHeld   deed = "held"
	Cancelled deed = "cancelled"
	Loss      deed = "machine lost" // Slurm then requeues or ends the job
)

// Done holds a deed and its details, as an AdminComment states them.
type Done struct {
	Deed   deed
	At     time.Time // zero: the AdminComment states no time
	Reason string
}

// String returns the text of the AdminComment.
func (d Done) String() string {
	if d.At.IsZero() {
		return fmt.Sprintf("%s: %s", d.Deed, d.Reason)
	}
	return fmt.Sprintf("%s at %s: %s", d.Deed, d.At.UTC().Format(time.RFC3339), d.Reason)
}

// DoneOf parses the deed from an AdminComment of ours, without KeepsNone. It reports false if the
// comment contains no deed.
func DoneOf(comment string) (d Done, ok bool) {
	head, reason, found := strings.Cut(Text(comment), ": ")
	word, at, dated := strings.Cut(head, " at ")
	d = Done{Deed: deed(word), Reason: strings.TrimSuffix(reason, KeepsNone)}
	if dated {
		var err error
		if d.At, err = time.Parse(time.RFC3339, at); err != nil {
			return Done{}, false
		}
	}
	known := slices.Contains([]deed{Requeued, Again, JobHeld, Cancelled, Loss}, d.Deed)
	return d, found && known && IsOurs(comment)
}

const failedForm = "attempt %d failed"

// Failed formats how many attempts have failed in a row, and why the last one failed.
func Failed(attempts int, why string) string { return fmt.Sprintf(failedForm+": %s", attempts, why) }

// ParseFailed returns the number of failed attempts in an AdminComment of ours; 0 if it contains
// none.
func ParseFailed(comment string) (attempts int) {
	if at := strings.Index(comment, "attempt "); at >= 0 && IsOurs(comment) {
		_, _ = fmt.Sscanf(comment[at:], failedForm, &attempts)
	}
	return attempts
}

// KeepsNone ends the AdminComment of a job that has lost a machine and keeps none of its others.
const KeepsNone = "; its other machines are released, because the job's time limit does not fit in the rest of their lease"

// Texts about nodes that the job has. They stop applying when the job loses its nodes.
const (
	Waiting      = "waiting "
	WaitingSince = Waiting + "since "                                        // when its machines were requested
	Booting      = Waiting + "for its machines, which are requested or boot" // replaces why they were not requested
	There        = "its nodes are there, until "
	End          = "its nodes end at "
	Sends        = "; slurmflex sends it "                    // after End: the signal that slurmflex will send
	Warned       = "; warned at "                             // after End: when the job was signalled
	Waited       = "; waited "                                // after There and End: how long the job waited, and for what
	NoEnd        = "its nodes are there, without a known end" // replaces Waiting and End
	// Unplaced: the job waits without nodes. Slurm has taken them back, or slurmflex no longer keeps
	// them for it, for example because the job was changed.
	Unplaced = "it has no nodes now; slurmflex requests machines once Slurm may start the job"
	// TakenDown begins the text for a job that waits for nodes that slurmflex down removes.
	TakenDown = "its nodes are taken down"
)

// Yielded ends the AdminComment of a job that lost its queue position to another request.
const Yielded = "; it lost its place in Google's queue to a request of higher priority"

// Begins reports whether an AdminComment of ours begins with one of these texts, such as End.
func Begins(comment, text string) bool { return strings.HasPrefix(comment, OwnComment+text) }

// Has reports whether an AdminComment of ours contains one of these texts, such as Yielded.
func Has(comment, text string) bool { return IsOurs(comment) && strings.Contains(comment, text) }

// Continues reports whether an AdminComment consists of the text, followed at most by how long its
// job has waited, which signal follows, or when the job was warned.
func Continues(comment, text string) bool {
	rest, begins := strings.CutPrefix(comment, text)
	return begins && slices.ContainsFunc([]string{Waited, Warned, Sends}, func(next string) bool { return strings.HasPrefix(rest, next) })
}

// BeforeSignal returns the text of an AdminComment without the announcement of a signal, and
// whether the job was warned.
func BeforeSignal(comment string) (text string, warned bool) {
	text, _, _ = strings.Cut(Text(comment), Sends)
	return text, Has(comment, Warned)
}

// WasWarned reports whether an AdminComment of ours says that its job was warned of the end of its
// nodes that the text names.
func WasWarned(comment, text string) bool {
	end, _, _ := strings.Cut(text, "; ")
	_, warned := BeforeSignal(comment)
	return warned && Begins(end, End) && Continues(comment, end)
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
	return at, signal, warned && sent && err == nil && IsOurs(comment)
}

// ExplainsHold reports whether an AdminComment of ours says why slurmflex held its job. If a held job
// has another comment, an admin or Slurm held it. v0.1.0 wrote the reason alone.
func ExplainsHold(comment string) bool {
	if done, ok := DoneOf(comment); ok {
		return done.Deed == JobHeld
	}
	isWait := slices.ContainsFunc([]string{Waiting, There, End, NoEnd}, func(begin string) bool { return strings.HasPrefix(Text(comment), begin) })
	return IsOfNodes(comment) && !isWait && ParseFailed(comment) == 0
}

// IsOfNodes reports whether an AdminComment of ours is about nodes that the job has or waits for: it
// states neither what happened to the job nor that the job lost its nodes.
func IsOfNodes(comment string) bool {
	text, ours := strings.CutPrefix(comment, OwnComment)
	_, done := DoneOf(comment)
	return ours && !done && text != Unplaced && !strings.HasPrefix(text, TakenDown)
}
