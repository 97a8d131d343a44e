package words

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/must"
)

// TestDocumentationKeepsItsSize counts words like wc -w. Who adds to a page shortens another one.
func TestDocumentationKeepsItsSize(t *testing.T) {
	pages := must.Get(filepath.Glob("../../docs/*.md"))
	inner := must.Get(filepath.Glob("../../docs/*/*.md"))
	all := 0
	for _, page := range append(append(pages, inner...), "../../README.md") {
		all += wordsIn(t, page)
	}
	assert.LessOrEqual(t, all, 22_000, "words of README.md and docs/")
	assert.LessOrEqual(t, wordsIn(t, "../../CHANGELOG.md"), 1_500, "words of CHANGELOG.md")
	assert.LessOrEqual(t, wordsIn(t, "../../docs/dev/design.md"), 2_290, "words of docs/dev/design.md")
}

// wordsIn counts the words of a page, and refuses links that open on one machine only.
func wordsIn(t *testing.T, page string) int {
	t.Helper()
	text := must.Text(page)
	assert.NotContains(t, text, "file://", page)
	return len(strings.Fields(text))
}
