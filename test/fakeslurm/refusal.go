package fakeslurm

import "strings"

// refusal is a failed command's error in Slurm's own words.
type refusal struct {
	call, words string
	kind        error // one of slurm/scontrol's, or nil
}

func refuse(call, words string, kind error) error { return &refusal{call, words, kind} }

func (r *refusal) Error() string { return r.call + ": " + r.words }

func (r *refusal) Unwrap() error { return r.kind }

// maxText is the maximum number of bytes in a text that slurm/scontrol passes on.
const maxText = 500

// plain returns a text much as slurm/scontrol passes it on: on one line, and truncated.
func plain(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), maxText)]
}
