package slurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSqueueFormat(t *testing.T) {
	require.Equal(t, "%A|%i|%K|%l|%T|%N|%S|%Q|%P|%u|%r", SqueueFormat(SqueueColumns))
}

func TestParseSqueueReadsEveryColumn(t *testing.T) {
	jobs, err := ParseSqueue(SqueueColumns, []byte(
		"7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|BeginTime\n"+
			"8|8|N/A|UNLIMITED|RUNNING|f[0-1],s0|2026-11-21T03:00:00|4294901759|flex|bob|None\n"))
	require.NoError(t, err)
	require.Equal(t, []Job{
		{
			ID: 7, ArrayID: 5, ArrayTask: "3-9%2", Limit: Limit{Kind: LimitSet, Duration: 24 * time.Hour},
			State: JobPending, Priority: 42, Partition: "flex,all", User: "ann", Reason: "BeginTime",
		},
		{
			ID: 8, ArrayID: 8, Limit: Limit{Kind: Unlimited}, State: JobRunning, Nodes: []string{"f0", "f1", "s0"},
			Start: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Priority: 4294901759, Partition: "flex", User: "bob", Reason: "None",
		},
	}, jobs)
}

func TestTheLastColumnMayHoldBars(t *testing.T) {
	jobs, err := ParseSqueue("Aj", []byte("7|a|b|\n"))
	require.NoError(t, err)
	require.Equal(t, []Job{{ID: 7, Name: "a|b|"}}, jobs)
}

func TestAJobsAddressNamesItsArrayOrItsHeterogeneousJob(t *testing.T) {
	jobs, err := ParseSqueue("Ai", []byte("7|7\n8|5_2\n5|5_[3-9%2]\n6|6_[1,3,5,7,9,11,\n10|10+0\n11|10+1\n"))
	require.NoError(t, err)
	require.Equal(t, []Job{
		{ID: 7, ArrayID: 7},
		{ID: 8, ArrayID: 5},
		{ID: 5, ArrayID: 5},
		{ID: 6, ArrayID: 6},
		{ID: 10, ArrayID: 10, HetID: 10},
		{ID: 11, ArrayID: 11, HetID: 10, HetOffset: 1},
	}, jobs)
}

func TestAnEmptyQueueHasNoJobs(t *testing.T) {
	jobs, err := ParseSqueue(SqueueColumns, nil)
	require.NoError(t, err)
	require.Empty(t, jobs)
}

func TestParseSqueueRefuses(t *testing.T) {
	for _, test := range []struct {
		name, columns, out, want string
	}{
		{"too few fields", "AFT", "1|1|RUNNING\n2|2\n", `squeue: line 2, "2|2": 2 fields, not 3`},
		{"a blank line", "AT", "\n", `squeue: line 1, "": 1 fields, not 2`},
		{"an id that is no number", "AT", "x|RUNNING", `squeue: line 1, "x|RUNNING": job id "x": not a number from 1 up`},
		{"the id 0", "AT", "0|RUNNING", `squeue: line 1, "0|RUNNING": job id "0": not a number from 1 up`},
		{"an id past 32 bits", "AT", "4294967296|RUNNING", `squeue: line 1, "4294967296|RUNNING": job id "4294967296": not a number from 1 up`},
		{"an array id that is no number", "AF", "1|N/A", `squeue: line 1, "1|N/A": job id "N/A": not a number from 1 up`},
		{"a component whose leader is none", "Ai", "1|x+1", `squeue: line 1, "1|x+1": job id "x": not a number from 1 up`},
		{"a component without a place", "Ai", "1|1+", `squeue: line 1, "1|1+": component "1+": not a number after the +`},
		{"an address that is none", "Ai", "1|N/A", `squeue: line 1, "1|N/A": job id "N/A": not a number from 1 up`},
		{"a priority that is no number", "AQ", "1|high", `squeue: line 1, "1|high": priority "high": not a number`},
		{"a start that is no time", "AS", "1|soon", `squeue: line 1, "1|soon": time "soon": not like 2006-01-02T15:04:05`},
		{"a malformed hostlist", "AN", "1|f[0", `squeue: line 1, "1|f[0": hostlist "f[0": a bracket that is never closed at character 2`},
		{"a column it does not know", "AZ", "1|2", `squeue: line 1, "1|2": column 'Z': not known`},
		{"columns without the job id", "TN", "RUNNING|f0", `squeue columns "TN": no A, the job id`},
	} {
		t.Run(test.name, func(t *testing.T) {
			jobs, err := ParseSqueue(test.columns, []byte(test.out))
			require.EqualError(t, err, test.want)
			require.Nil(t, jobs)
		})
	}
}

func FuzzParseSqueue(f *testing.F) {
	for _, version := range versions(f) {
		f.Add(fixtureColumns, fixture(f, version, "10-het.squeue.txt"))
	}
	f.Add(SqueueColumns, []byte("7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|BeginTime\n"))
	f.Fuzz(func(t *testing.T, columns string, out []byte) {
		jobs, err := ParseSqueue(columns, out)
		if err != nil {
			require.Nil(t, jobs)
			require.NotContains(t, err.Error(), "\n")
		}
		for _, job := range jobs {
			require.NotZero(t, job.ID)
		}
	})
}
