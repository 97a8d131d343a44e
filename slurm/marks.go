package slurm

import (
	"strings"
	"unicode"
)

// Slurm's commands print the text that users write as it is, with line breaks and with the
// bars that separate columns. A format therefore puts each such column between marks, which
// contain a random word drawn for each call.

// marked is a column of a format between the marks.
func marked(mark, column string) string {
	opens, closes := marks(mark)
	return opens + column + closes
}

// marks stand before and behind a text. They differ, so that a row which breaks off between
// them costs no other.
func marks(mark string) (opens, closes string) { return mark + "<", ">" + mark }

// flatten makes one field of each text between marks: bars and what does not print become
// spaces. A row that breaks off in a text ends there, and the last line of what follows is
// the next row, up to its own mark. Lines between those may be the text's, or rows that
// broke off, too: an empty one stands for them, which cannot be read.
func flatten(out, mark string) string {
	opens, closes := marks(mark)
	parts := strings.Split(out, opens)
	for i, part := range parts[1:] {
		text, rest, closed := strings.Cut(part, closes)
		switch at := strings.LastIndex(part, "\n"); {
		case closed:
			parts[i+1] = flat(text) + rest
		case at > strings.Index(part, "\n"):
			parts[i+1] = "\n" + part[at:]
		case at >= 0:
			parts[i+1] = part[at:]
		default:
			parts[i+1] = ""
		}
	}
	return strings.Join(parts, "")
}

// flat is a text without bars and without what does not print.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '|' || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
