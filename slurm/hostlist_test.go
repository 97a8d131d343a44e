package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpand(t *testing.T) {
	for _, test := range []struct {
		name, hostlist string
		want           []string
	}{
		{"empty text names no nodes", "", nil},
		{"(null) names no nodes", "(null)", nil},
		{"a name stands for itself", "login", []string{"login"}},
		{"a range", "f[1-3]", []string{"f1", "f2", "f3"}},
		{"a range keeps its padding", "f[08-10]", []string{"f08", "f09", "f10"}},
		{"a range grows past its padding", "f[9-11]", []string{"f9", "f10", "f11"}},
		{"ranges and numbers in one bracket", "f[0,2-3,07]", []string{"f0", "f2", "f3", "f07"}},
		{
			"several brackets, the last one fastest", "rack[0-1]n[08-10]",
			[]string{"rack0n08", "rack0n09", "rack0n10", "rack1n08", "rack1n09", "rack1n10"},
		},
		{"a suffix after the bracket", "f[1-2]-ib,g", []string{"f1-ib", "f2-ib", "g"}},
		{"a bracket alone", "[1-2]", []string{"1", "2"}},
		{"order and repetitions are kept", "b,a[2,1],b", []string{"b", "a2", "a1", "b"}},
		{"the largest number", "f[999999999999999998-999999999999999999]", []string{"f999999999999999998", "f999999999999999999"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			names, err := Expand(test.hostlist)
			require.NoError(t, err)
			require.Equal(t, test.want, names)
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, test := range []struct {
		name, hostlist, want string
	}{
		{"an open bracket", "f[1-3", `hostlist "f[1-3": a bracket that is never closed at character 2`},
		{"an empty bracket", "f[]", `hostlist "f[]": a number is missing at character 3`},
		{"a closing bracket alone", "f1]", `hostlist "f1]": ']' cannot be in a node name at character 3`},
		{"a bracket in a bracket", "f[[1-2]]", `hostlist "f[[1-2]]": a number is missing at character 3`},
		{"a range that runs backwards", "f[3-1]", `hostlist "f[3-1]": the range 3-1 runs backwards at character 3`},
		{"a range without an end", "f[1-]", `hostlist "f[1-]": a number is missing at character 5`},
		{"a range with two dashes", "f[1-2-3]", `hostlist "f[1-2-3]": '-' in brackets at character 6`},
		{"a comma at the end", "f1,", `hostlist "f1,": an empty name at character 4`},
		{"a space", "f1 f2", `hostlist "f1 f2": ' ' cannot be in a node name at character 3`},
		{"a number of 19 digits", "f[1234567890123456789]", `hostlist "f[1234567890123456789]": a number of more than 18 digits at character 3`},
		{"a range of too many", "x[0-999999999]", `hostlist "x[0-999999999]": more than 262144 names`},
		{"brackets that multiply", "x[0-999]y[0-999]", `hostlist "x[0-999]y[0-999]": more than 262144 names`},
		{"elements that add up", "x[0-200000],y[0-200000]", `hostlist "x[0-200000],y[0-200000]": more than 262144 names`},
		{"ranges that add up", "x[0-200000,0-200000]", `hostlist "x[0-200000,0-200000]": more than 262144 names`},
	} {
		t.Run(test.name, func(t *testing.T) {
			names, err := Expand(test.hostlist)
			require.EqualError(t, err, test.want)
			require.Empty(t, names)
		})
	}
}

func TestExpandRefusesOverlongNamesAndShortensThemInItsError(t *testing.T) {
	for _, hostlist := range []string{strings.Repeat("a", 300), strings.Repeat("[1]", 300), "b," + strings.Repeat("[000001]", 50)} {
		_, err := Expand(hostlist)
		require.ErrorContains(t, err, "a name longer than 253 characters")
		require.Less(t, len(err.Error()), 200)
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name  string
		names []string
		want  string
	}{
		{"no names", nil, ""},
		{"one name", []string{"f7"}, "f7"},
		{"a run of numbers", []string{"f1", "f2", "f3"}, "f[1-3]"},
		{"gaps", []string{"f1", "f3", "f4"}, "f[1,3-4]"},
		{"numbers in order of value", []string{"f10", "f9", "f2"}, "f[2,9-10]"},
		{"repetitions count once", []string{"f2", "f1", "f2"}, "f[1-2]"},
		{"padding", []string{"f08", "f09", "f10"}, "f[08-10]"},
		{"padding that ends", []string{"f99", "f098", "f100"}, "f[098,99-100]"},
		{"different paddings stay apart", []string{"f1", "f01", "f001"}, "f[1,01,001]"},
		{"a name and the same with a number", []string{"f0", "f", "f1"}, "f,f[0-1]"},
		{"only the last number is folded", []string{"r1n1", "r0n2", "r0n1"}, "r0n[1-2],r1n1"},
		{"numbers inside names in order of value", []string{"r10n1", "r2n1"}, "r2n1,r10n1"},
		{"names that end in letters are written out, for Slurm", []string{"x1y", "x2y"}, "x1y,x2y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, Fold(test.names))
		})
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
	for _, hostlist := range []string{"", "f[0-1],s1,rack[0-1]n[08-10]", "f[08-10]x,y", "x[0-999999999]", "[1][2][3]", "f[9-011]"} {
		f.Add(hostlist)
	}
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
