package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

func TestBillListsEveryModuleWithItsLicense(t *testing.T) {
	dir, again := t.TempDir(), t.TempDir()
	require.NoError(t, run([]string{dir, "v1.2.0", os.Args[0]}))
	require.NoError(t, run([]string{again, "v1.2.0", os.Args[0], os.Args[0]}))
	var bom cdx.BOM
	text := read(t, dir, "bom.cdx.json")
	require.NoError(t, json.Unmarshal([]byte(text), &bom))
	assert.Equal(t, "v1.2.0", bom.Metadata.Component.Version)
	var names []string
	for _, c := range *bom.Components {
		names = append(names, c.Name)
		assert.Equal(t, "pkg:golang/"+c.Name+"@"+c.Version, c.PackageURL)
	}
	assert.Contains(t, names, "std")
	assert.Contains(t, names, "github.com/CycloneDX/cyclonedx-go")
	notices := read(t, dir, "third-party-notices")
	for _, c := range *bom.Components {
		assert.Contains(t, notices, "==== "+c.Name+" "+c.Version+": ")
	}
	assert.Contains(t, notices, "Copyright (c) OWASP Foundation", "its NOTICE")
	assert.Equal(t, text, read(t, again, "bom.cdx.json"), "the same programs have the same bill")
	assert.Equal(t, notices, read(t, again, "third-party-notices"))
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	return must.Text(filepath.Join(dir, name))
}
