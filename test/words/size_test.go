package words

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumentationKeepsItsSize counts words like wc -w. Who adds to a page shortens another one.
func TestDocumentationKeepsItsSize(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	inner, err := filepath.Glob("../../docs/*/*.md")
	require.NoError(t, err)
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
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "file://", page)
	return len(strings.Fields(string(text)))
}
