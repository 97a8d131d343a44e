package slurm

import (
	"strings"
	"unicode"
)

// Slurm's commands print user text unchanged, including line breaks and the bars that separate
// columns. A format therefore encloses each such column in marks, which contain a random word drawn
// for each call.

// marked encloses a column of a format in marks.
func marked(mark, column string) string {
	opens, closes := marks(mark)
	return opens + column + closes
}

// marks returns the marks before and after a text. They differ, so that a row truncated between
// them affects no other row.
func marks(mark string) (opens, closes string) { return mark + "<", ">" + mark }

// flatten turns each text between marks into one field: bars and unprintable characters become
// spaces. A row that is cut off inside a text ends there, and the last line before the next end
// mark is taken as the next row. The lines between may belong to the text or to other truncated
// rows. flatten replaces them with one empty line, which is unreadable as a row.
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

// flat replaces bars and unprintable characters in a text with spaces.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '|' || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
