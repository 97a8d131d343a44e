package config

// nearest returns the candidate with the spelling closest to the word; false if no candidate is
// close enough. Of equally close candidates, it returns the first in alphabetical order.
func nearest(word string, candidates []string) (string, bool) {
	const longest = 64 // longer than any key, so longer words are not misspelled keys
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

// suggest proposes the nearest candidate instead of a word, or else another fix.
func suggest(word string, candidates []string, otherwise string) string {
	if near, ok := nearest(word, candidates); ok {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// edits returns the number of letters to insert, delete or change to turn a into b.
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
