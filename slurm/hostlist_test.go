package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The output of show hostnames has several brackets.
func TestExpand(t *testing.T) {
	eachRead(t, Expand, map[string][]string{
		"":            nil,
		"(null)":      nil,
		"f[9-11]":     {"f9", "f10", "f11"},
		"f[0,2-3,07]": {"f0", "f2", "f3", "f07"},
		"f[1-2]-ib,g": {"f1-ib", "f2-ib", "g"},
		"[1-2]":       {"1", "2"},
		"b,a[2,1],b":  {"b", "a2", "a1", "b"},
		"f[999999999999999998-999999999999999999]": {"f999999999999999998", "f999999999999999999"},
	})
}

func TestExpandRefuses(t *testing.T) {
	eachRefused(t, Expand, map[string]string{
		"f[1-3":                   `hostlist "f[1-3": a bracket that is never closed at character 2`,
		"f[]":                     `hostlist "f[]": a number is missing at character 3`,
		"f1]":                     `hostlist "f1]": ']' cannot be in a node name at character 3`,
		"f[3-1]":                  `hostlist "f[3-1]": the range 3-1 runs backwards at character 3`,
		"f[1-]":                   `hostlist "f[1-]": a number is missing at character 5`,
		"f[1-2-3]":                `hostlist "f[1-2-3]": '-' in brackets at character 6`,
		"f1,":                     `hostlist "f1,": an empty name at character 4`,
		"f[1234567890123456789]":  `hostlist "f[1234567890123456789]": a number of more than 18 digits at character 3`,
		"x[0-999]y[0-999]":        `hostlist "x[0-999]y[0-999]": more than 262144 names`,
		"x[0-200000],y[0-200000]": `hostlist "x[0-200000],y[0-200000]": more than 262144 names`,
		"x[0-200000,0-200000]":    `hostlist "x[0-200000,0-200000]": more than 262144 names`,
	})
}

func TestExpandRefusesOverlongNamesAndShortensThemInItsError(t *testing.T) {
	for _, hostlist := range []string{strings.Repeat("a", 300), strings.Repeat("[1]", 300), "b," + strings.Repeat("[000001]", 50)} {
		_, err := Expand(hostlist)
		require.ErrorContains(t, err, "a name longer than 253 characters")
		require.Less(t, len(err.Error()), 200)
	}
}

func TestFold(t *testing.T) {
	for want, names := range map[string][]string{
		"":              nil,
		"f7":            {"f7"},
		"f[1,3-4]":      {"f1", "f3", "f4"},
		"f[2,9-10]":     {"f10", "f9", "f2"},
		"f[1-2]":        {"f2", "f1", "f2"},
		"f[08-10]":      {"f08", "f09", "f10"},
		"f[098,99-100]": {"f99", "f098", "f100"},
		"f[1,01,001]":   {"f1", "f01", "f001"},
		"f,f[0-1]":      {"f0", "f", "f1"},
		"r0n[1-2],r1n1": {"r1n1", "r0n2", "r0n1"}, // for Slurm, only the last number is folded
		"r10n1,r2n1":    {"r2n1", "r10n1"},
		"x1y,x2y":       {"x1y", "x2y"},
	} {
		require.Equal(t, want, Fold(names))
	}
}

// sorted returns the names in Fold's order, without duplicates.
func sorted(names []string) []string {
	hosts := make([]host, len(names))
	for i, name := range names {
		hosts[i] = splitHost(name)
	}
	slices.SortFunc(hosts, compareHosts)
	var unique []string
	for _, h := range slices.Compact(hosts) {
		unique = append(unique, h.prefix+h.digits)
	}
	return unique
}

func FuzzHostlist(f *testing.F) {
	seeds(f, []string{"", "f[0-1],s1,rack[0-1]n[08-10]", "f[08-10]x,y", "x[0-999999999]", "[1][2][3]", "f[9-011]"}...)
	for _, version := range versions(f) {
		f.Add(strings.TrimSpace(string(fixture(f, version, "resumearg-2.txt"))))
	}
	f.Fuzz(func(t *testing.T, hostlist string) {
		names, err := Expand(hostlist)
		if err != nil {
			require.Nil(t, names)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := Expand(Fold(names))
		require.NoError(t, err)
		require.Equal(t, sorted(names), again)
	})
}
