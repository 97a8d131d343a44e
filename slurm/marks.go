package slurm

import (
	"strings"
	"unicode"
)

// Slurm's commands print the text that users write as it is, with line breaks and with the
// bars that separate columns. A format therefore puts each such column between marks, which
// contain a random word drawn for each call.

// marked encloses a column of a format in the marks.
func marked(mark, column string) string {
	opens, closes := marks(mark)
	return opens + column + closes
}

// marks returns the marks before and behind a text. They differ, so that a row which breaks off
// between them spoils no other row.
func marks(mark string) (opens, closes string) { return mark + "<", ">" + mark }

// flatten turns each text between marks into one field: bars and unprintable characters become
// spaces. A row that breaks off in a text ends there, and the last line of what follows is the
// next row, up to its own mark. The lines between may belong to the text or to other rows that
// broke off. flatten replaces them by one empty line, which cannot be read as a row.
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

// flat replaces bars and unprintable characters in a text by spaces.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '|' || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
