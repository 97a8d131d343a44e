package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

func TestDefectIsFixedIfAllItsTestsPassed(t *testing.T) {
	a, b := test{"flex", "TestA/x"}, test{"flex", "TestB"}
	for name, c := range map[string]struct {
		ends string // of TestA/x and TestB
		want string
	}{
		"one fails":    {`pass fail`, "  1 WRONG r\n   flex TestB: fail\nwhy\ndefects: 0 of 1 right\n"},
		"one skips":    {`skip pass`, "  1 ok    r\ndefects: 1 of 1 right\n"},
		"both skip":    {`skip skip`, "  1 WRONG r\n   flex TestA/x: skip\nwhy\n   flex TestB: skip\nwhy\ndefects: 0 of 1 right\n"},
		"one is never": {`none pass`, "  1 WRONG r\n   flex TestA/x: did not run; does a test have that name?\ndefects: 0 of 1 right\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var events strings.Builder
			for i, end := range strings.Fields(c.ends) {
				if end != "none" {
					name := []test{a, b}[i].name
					fmt.Fprintf(&events, `{"Action":"output","Package":"slurmflex/flex","Test":%q,"Output":"why\n"}`, name)
					fmt.Fprintf(&events, `{"Action":%q,"Package":"slurmflex/flex","Test":%q}`, end, name)
				}
			}
			outcomes := map[test]outcome{}
			require.NoError(t, readEvents(strings.NewReader(events.String()), outcomes))
			var out strings.Builder
			report(&out, []defect{{"1", "r", []test{a, b}}}, outcomes)
			assert.Equal(t, c.want, out.String())
		})
	}
}

// A test that was renamed or deleted would only be missed when all tests have run.
func TestReadmeNamesTestsThatExist(t *testing.T) {
	f := must.Get(os.Open("../README.md"))
	defer f.Close()
	defects, err := readTable(f)
	require.NoError(t, err)
	for _, d := range defects {
		for _, one := range d.tests {
			name, _, _ := strings.Cut(one.name, "/")
			files := must.Get(filepath.Glob(filepath.Join("../..", one.pkg, "*_test.go")))
			assert.True(t, slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
			}), "defect %s: %s lacks test %s", d.name, one.pkg, name)
		}
	}
}
