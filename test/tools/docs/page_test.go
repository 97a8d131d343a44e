package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBrokenLinksAreReported(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "docs"), 0o755))
	for _, name := range []string{"README.md", "docs/a.md", "Makefile"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
	}
	for target, want := range map[string]string{
		"../README.md#known":   "",
		"https://example.org/": "",
		"../README.md#unknown": "the page lacks this heading",
		"../Makefile#target":   "only pages have anchors",
		"README.md":            "the file does not exist",
		"../../README.md":      "leads out of the repository",
	} {
		t.Run(target, func(t *testing.T) {
			pages := []*page{
				{path: "README.md", anchors: map[string]bool{"known": true}},
				{path: "docs/a.md", anchors: map[string]bool{"here": true}, links: []link{{target, 3}}},
			}
			_, problems := checkLinks(root, pages)
			if want == "" {
				assert.Empty(t, problems)
				return
			}
			assert.Equal(t, []problem{{"docs/a.md", 3, "link to " + target + ": " + want}}, problems)
		})
	}
}

func TestRunnablePagesHaveSettings(t *testing.T) {
	pages, err := readPages("../../..")
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, p := range pages {
		known[p.path] = true
		if _, set := settings[p.path]; p.runs() && !set {
			t.Errorf("%s has something to run and no setting", p.path)
		}
	}
	for path := range settings {
		assert.True(t, known[path], "settings speak of %s, which is not there", path)
	}
}
