package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMalformedFilesAreRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"an empty file":                 {"", "c.yaml: empty; set at least slurm_cluster_name and project"},
		"only a comment":                {"# nothing\n", "c.yaml: empty; set at least slurm_cluster_name and project"},
		"only a null":                   {"~\n", "c.yaml: empty; set at least slurm_cluster_name and project"},
		"only a document end":           {"---\n...\n", "c.yaml: empty; set at least slurm_cluster_name and project"},
		"a list":                        {"\n- a\n", "c.yaml:2: a list is not a mapping; write keys and values"},
		"a word":                        {"hello", `c.yaml:1: "hello" is not a mapping; write keys and values`},
		"not YAML":                      {"a: 1\nb: [1, 2\n", "c.yaml: not YAML near line 1: did not find expected ',' or ']'; fix the syntax"},
		"not text":                      {"\xff\xfe\x00", "c.yaml:1: not UTF-8; save the file in UTF-8"},
		"Latin-1":                       {"a: 1\nb: M\xfcnchen\n", "c.yaml:2: not UTF-8; save the file in UTF-8"},
		"an unknown alias":              {"a: *b\n", "c.yaml: not YAML: unknown anchor 'b' referenced; fix the syntax"},
		"a list as the second document": {"a: 1\n---\n- b\n", "c.yaml:3: a list is not a mapping; write keys and values"},
		"a key twice in the second document": {
			"slurm_cluster_name: alpha\nproject: a\n---\nproject: b\nproject: c\n", "c.yaml:5: project: appears twice, first on line 4; keep one",
		},
		"a broken second document": {
			"a: 1\n---\nb: [\n", "c.yaml: not YAML near line 3: did not find expected node content; fix the syntax",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(tt.text))
			require.EqualError(t, err, tt.want)
		})
	}
}

// D11
func TestTruncatedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	for n := 1; n < len(valid); n++ {
		require.NoError(t, os.WriteFile(path, []byte(valid[:n]), 0o600))
		_, err := Load(path)
		if valid[n-1] != '\n' {
			line := 1 + strings.Count(valid[:n], "\n")
			require.EqualError(t, err, fmt.Sprintf("%s:%d: the file ends without a newline, so it may be cut off; write all of it, with a newline at the end", path, line))
			var problems Problems
			require.ErrorAs(t, err, &problems)
		}
	}
	require.NoError(t, os.WriteFile(path, []byte(valid), 0o600))
	_, err := Load(path)
	require.NoError(t, err)
}

func TestOtherEncodingIsNotTakenForATruncatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(path, []byte("\xff\xfea\x00:\x00\n\x00"), 0o600)) // UTF-16, as some Windows editors write it
	_, err := Load(path)
	require.EqualError(t, err, path+":1: not UTF-8; save the file in UTF-8")
}

func TestMappingMayMergeItself(t *testing.T) {
	parse(t, minimal+"slurmflex: &s\n  log_level: warn\n  <<: [*s, *s]\n")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(valid))
	f.Add([]byte("slurmflex: &s\n  interval: 1\n  <<: [*s, *s]\n? {a: b}\n: c\n"))
	f.Add([]byte("nodeset: {a: {<<: {dws_flex: }, zone_policy_allow: [!!int x, null]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("c.yaml", data)
		if err == nil {
			for _, ns := range c.NodeSets {
				if ns.Size() > 0 {
					found, index, ok := c.Find(ns.NodeName(c.Cluster, ns.Size()-1))
					require.True(t, ok && found == ns && index == ns.Size()-1)
				}
			}
			return
		}
		var problems Problems
		require.ErrorAs(t, err, &problems)
		require.NotEmpty(t, problems)
		for _, p := range problems {
			require.NotContains(t, p.Error(), "\n")
			require.NotEmpty(t, p.Text)
		}
	})
}

func TestLongTextIsCutBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		long := strings.Repeat("x", 77+shift) + strings.Repeat("ü", 20)
		_, err := Parse("c.yaml", []byte("slurm_cluster_name: hpc\nproject: "+long+"\n"))
		require.ErrorContains(t, err, "…")
		assert.NotContains(t, err.Error(), `\x`, "a character was cut: %v", err)
	}
}
