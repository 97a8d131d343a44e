package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParsePageFindsBlocksAndLinks(t *testing.T) {
	p, err := parsePage("docs/a.md", []byte("# The `sync` command, again!\n\nSee [b](b.md#x) and ![p](p.png \"a picture\").\n`[no](link)`\n\n"+
		"```bash job.sh\n#!/bin/bash\n[not](a link)\n```\n## Again\n## Again\n```text\nout\n```\n"))
	require.NoError(t, err)
	assert.Equal(t, []block{{"bash", "job.sh", 7, "#!/bin/bash\n[not](a link)\n"}, {"text", "", 13, "out\n"}}, p.blocks)
	assert.Equal(t, []link{{"b.md#x", 3}, {"p.png", 3}}, p.links)
	assert.Equal(t, map[string]bool{"the-sync-command-again": true, "again": true, "again-1": true}, p.anchors)
	assert.True(t, p.runs())
}

func TestPageWithOnlyOutputHasNothingToRun(t *testing.T) {
	p, err := parsePage("a.md", []byte("```text\nout\n```\n"))
	require.NoError(t, err)
	assert.False(t, p.runs())
}

func TestUnclosedBlockIsReported(t *testing.T) {
	_, err := parsePage("a.md", []byte("text\n```sh\nid\n"))
	require.EqualError(t, err, "a.md:2: a block that does not end; close it with ```")
}

func TestBrokenLinksAreReported(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "docs"), 0o755))
	for _, name := range []string{"README.md", "docs/a.md", "Makefile"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
	}
	for target, want := range map[string]string{
		"../README.md":         "",
		"../README.md#known":   "",
		"#here":                "",
		"../Makefile":          "",
		"https://example.org/": "",
		"../README.md#unknown": "the page lacks this heading",
		"#there":               "the page lacks this heading",
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

func TestFragmentOverridesTheConfiguration(t *testing.T) {
	const base = "project: p\nnodeset:\n  a3: {subnetwork: s, dws_flex: {max_attempts: 3}}\n"
	for name, c := range map[string]struct{ over, want string }{
		"a key is added":                           {"slurmflex: {interval: 5s}", base + "slurmflex: {interval: 5s}\n"},
		"a key is exchanged":                       {"project: q", "project: q\nnodeset: {a3: {subnetwork: s, dws_flex: {max_attempts: 3}}}"},
		"an inner key leaves its neighbours":       {"nodeset: {a3: {dws_flex: {enabled: true}}}", "project: p\nnodeset: {a3: {subnetwork: s, dws_flex: {max_attempts: 3, enabled: true}}}"},
		"a new nodeset is like a3 where it is not": {"nodeset: {b: {dws_flex: {max_attempts: 1}}}", base + "  b: {nodeset_name: b, subnetwork: s, dws_flex: {max_attempts: 1}}\n"},
	} {
		assert.YAMLEq(t, c.want, string(merge([]byte(base), []byte(c.over))), name)
	}
}

func TestSlurmConfLinesAreCompletedToAFile(t *testing.T) {
	assert.Equal(t, "ClusterName=alpha\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nAuthType=auth/none\nCredType=cred/none\n"+
		"GresTypes=gpu\nNodeName=alpha-a3-[0-63] State=CLOUD\nResumeRate=0\n", slurmConf("ResumeRate=0\n"))
	assert.NotContains(t, slurmConf("ClusterName=beta\n"), "ClusterName=alpha")
	assert.NotContains(t, slurmConf("PartitionName=a Nodes=b PowerDownOnIdle=YES MaxTime=1\n"), "PowerDownOnIdle")
}

func TestCommandsAreCountedOnce(t *testing.T) {
	assert.Equal(t, 2, commands("# first\nsbatch \\\n  job.sh\n\nsqueue\n"))
}
