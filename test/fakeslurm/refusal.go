package fakeslurm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// refusal is a command that Slurm says has failed, in Slurm's own words.
type refusal struct {
	call, words string
	kind        error // one of slurm/scontrol's, or nil
}

func refuse(call, words string, kind error) error { return &refusal{call, words, kind} }

func (r *refusal) Error() string { return r.call + ": " + r.words }

func (r *refusal) Unwrap() error { return r.kind }

// maxText is the most bytes of a text that slurm/scontrol hands on.
const maxText = 500

// plain is a text as slurm/scontrol hands it on: one line, cut short.
func plain(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text))
	if len(text) <= maxText {
		return text
	}
	end := maxText - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
