package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config/source"
)

const file = `# a cluster
project: demo
nodeset:
  a3: &a3
    zones: [us-central1-a, us-central1-b]
    node_conf: {CPUs: 4, Feature: null, Gres: ""}
  b3:
    <<: *a3
    zones: [us-central1-c]
  "odd name": {size: 3}
list:
  - {name: x}
`

func TestALineIsThatOfTheKeyOrOfWhatItWouldStandIn(t *testing.T) {
	f, err := source.Parse("c.yaml", []byte(file))
	require.NoError(t, err)
	for key, line := range map[string]int{
		"project":                 2,
		"nodeset":                 3,
		"nodeset.a3":              4,
		"nodeset.a3.zones":        5,
		"nodeset.a3.zones[1]":     5,
		"nodeset.a3.zones[7]":     5,
		"nodeset.a3.dws_flex.use": 4,
		"nodeset.a3.node_conf":    6,
		"nodeset.b3.zones[0]":     9,
		"nodeset.b3.node_conf":    6, // merged from a3
		`nodeset."odd name".size`: 10,
		"list[0].name":            12,
		"slurmflex.interval":      0,
	} {
		assert.Equal(t, line, f.Line(key), key)
	}
}

func TestAValueIsWhatIsWritten(t *testing.T) {
	f, err := source.Parse("c.yaml", []byte(file))
	require.NoError(t, err)
	for key, want := range map[string]string{"project": "demo", "nodeset.b3.zones[0]": "us-central1-c", "nodeset.a3.node_conf.Gres": ""} {
		v, given := f.Value(key)
		assert.True(t, given, key)
		assert.Equal(t, want, v, key)
	}
	for _, key := range []string{"nodeset", "nodeset.a3.node_conf.Feature", "slurmflex"} {
		_, given := f.Value(key)
		assert.False(t, given, key)
	}
	assert.True(t, f.Has("nodeset.a3.node_conf.Feature"))
	assert.False(t, f.Has("slurmflex"))
	assert.Equal(t, []source.Setting{{"CPUs", "4"}, {"Gres", ""}}, f.Below("nodeset.a3.node_conf"))
	assert.Empty(t, f.Below("nodeset.a3.node"))
}

func TestAFileThatIsNoYAMLOrNotThereIsAnError(t *testing.T) {
	_, err := source.Parse("c.yaml", []byte("a: [1"))
	require.ErrorContains(t, err, "c.yaml: yaml: line 1:")
	_, err = source.Read(filepath.Join(t.TempDir(), "gone.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	f, err := source.Parse("c.yaml", nil)
	require.NoError(t, err)
	assert.Zero(t, f.Line("project"))
}

func TestAliasesCannotMakeAFileEndless(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: 1, y: 2, z: 3, u: 4, v: 5, w: 6, p: 7, q: 8, r: 9}\n")
	for i := range 9 {
		n, m := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + m + ": &a" + m + " {x: *a" + n + ", y: *a" + n + ", z: *a" + n + ", u: *a" + n + ", v: *a" + n + "}\n")
	}
	b.WriteString("last: here\n")
	f, err := source.Parse("c.yaml", []byte(b.String()))
	require.NoError(t, err)
	assert.Equal(t, 1, f.Line("a0.x"))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file), "nodeset.a3.zones[0]")
	f.Add([]byte("a: &a\n  <<: *a\n"), "a")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		parsed, err := source.Parse("c.yaml", data)
		if err != nil {
			return
		}
		_, given := parsed.Value(key)
		if given && parsed.Line(key) < 1 {
			t.Errorf("%q has a value and no line", key)
		}
	})
}
