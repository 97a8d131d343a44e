package config

// nearest returns the candidate that is spelled most like the word; false if
// none is near enough to be what was meant. Of equals, the first in the
// alphabet wins.
func nearest(word string, candidates []string) (string, bool) {
	const longest = 64 // no key is longer, so neither is a misspelt one
	if len(word) > longest {
		return "", false
	}
	best, least := "", 1+max(1, len(word)/4)
	for _, c := range candidates {
		if len(c)-len(word) > least || len(word)-len(c) > least {
			continue
		}
		if d := edits(word, c); d < least || d == least && best != "" && c < best {
			best, least = c, d
		}
	}
	return best, best != ""
}

// edits is the number of letters to insert, delete or change to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // row[j]: from the part of a so far to b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
