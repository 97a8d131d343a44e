package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const keyed = `# a cluster
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

// keysOf returns the keys of a file, even of an invalid configuration; nil if the file is not a
// mapping.
func keysOf(text string) *Keys {
	r := &reader{faulty: make(map[string]bool), left: maxEntries}
	if r.document([]byte(text)) == nil {
		return nil
	}
	return (&Config{root: r.root}).Keys()
}

func TestLineOfAMissingKeyIsThatOfItsParent(t *testing.T) {
	k := keysOf(keyed)
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
		assert.Equal(t, line, k.Line(key), key)
	}
}

func TestFileHasAKeyWithoutAValue(t *testing.T) {
	k := keysOf(keyed)
	assert.True(t, k.Has("nodeset.a3.node_conf.Feature"))
	assert.False(t, k.Has("slurmflex"))
}

func TestKeysAreThoseOfTheFileRead(t *testing.T) {
	c, err := Parse("c.yaml", []byte(valid))
	require.NoError(t, err)
	assert.Equal(t, "c.yaml", c.Keys().File)
	assert.True(t, c.Keys().Has("project"))
	assert.Zero(t, new(Config).Keys().Line("project"), "a configuration that was not read from a file")
}

func TestAliasesCannotMakeKeysEndless(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: 1, y: 2, z: 3, u: 4, v: 5, w: 6, p: 7, q: 8, r: 9}\n")
	for i := range 9 {
		n, m := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + m + ": &a" + m + " {x: *a" + n + ", y: *a" + n + ", z: *a" + n + ", u: *a" + n + ", v: *a" + n + "}\n")
	}
	b.WriteString("last: here\n")
	assert.Equal(t, 1, keysOf(b.String()).Line("a0.x"))
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte(keyed), "nodeset.a3.zones[0]")
	f.Add([]byte("a: &a\n  <<: *a\n"), "a")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		k := keysOf(string(data))
		if k == nil {
			return
		}
		if k.Has(key) && k.Line(key) < 1 {
			t.Errorf("%q has no line", key)
		}
	})
}
