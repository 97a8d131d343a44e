package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseJobAddress(t *testing.T) {
	const array = "34|34_[2,7%2]\n35|34_1\n36|34_0\n"
	for _, test := range []struct {
		name, out string
		id        uint32
		want      JobAddress
	}{
		{"a job", "9|9\n", 9, JobAddress{Own: "9", Whole: "9"}},
		{"a task with an id of its own", array, 35, JobAddress{Own: "34_1", Whole: "34_1"}},
		{"the task that has its array's id", "26|24_1\n24|24_2\n", 24, JobAddress{Own: "24_2", Whole: "24_2"}},
		{"the leader of a heterogeneous job", "39|38+1\n38|38+0\n", 38, JobAddress{Own: "38+0", Whole: "38"}},
		{"a component of a heterogeneous job", "39|38+1\n", 39, JobAddress{Own: "38+1", Whole: "38"}},
		{"a job that is not there", array, 3, JobAddress{}},
		{"no job", "", 9, JobAddress{}},
		{"A1: a job beside rows that cannot be read", "x|\n9|9\n8|<\n", 9, JobAddress{Own: "9", Whole: "9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			address, err := ParseJobAddress(test.id, []byte(test.out))
			require.NoError(t, err)
			require.Equal(t, test.want, address)
		})
	}
}

func TestParseJobAddressRefuses(t *testing.T) {
	for out, want := range map[string]string{
		"34|34_[2,7%2]\n": `squeue: job 34 stands for tasks that have not been told apart yet`,
		"34|34_[5]\n":     `squeue: job 34 stands for tasks that have not been told apart yet`,
		"34|34+\n":        `squeue: "34|34+": not a job id and an address`,
		"34|\n":           `squeue: "34|": not a job id and an address`,
		"<html>\n":        `squeue: "<html>": not a job id and an address`,
		"34|34\n34|35\n":  `squeue: job 34 is listed twice`,
		"34|34_2":         `squeue: the output breaks off in its last line`,
	} {
		address, err := ParseJobAddress(34, []byte(out))
		require.EqualError(t, err, want)
		require.Empty(t, address)
	}
}

func FuzzParseJobAddress(f *testing.F) {
	f.Add(uint32(34), []byte("34|34_2\n35|34_[0-1]\n"))
	f.Add(uint32(39), []byte("39|38+1\n"))
	f.Fuzz(func(t *testing.T, id uint32, out []byte) {
		address, err := ParseJobAddress(id, out)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, address)
		}
		require.Regexp(t, `^(\d+(_\d+)?(\+\d+)?)?$`, address.Own)
		whole, _, _ := strings.Cut(address.Own, "+")
		require.Equal(t, whole, address.Whole)
	})
}
