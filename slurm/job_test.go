package slurm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSqueueFormat(t *testing.T) {
	require.NotContains(t, SqueueFormat, "%j", "an owner writes rows into the job's name")
}

func TestParseSqueueReadsEveryColumn(t *testing.T) {
	jobs, err := ParseSqueue([]byte(
		"7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|BeginTime\n" +
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

// rowWith is a row of squeue with one field in place of a good one.
func rowWith(column, field string) string {
	fields := strings.Split("7|7|N/A|15:00|RUNNING|f0|2026-11-21T03:00:00|42|flex|ann|None", "|")
	fields[slices.Index(strings.Split(SqueueFormat, "|"), column)] = field
	return strings.Join(fields, "|")
}

func TestTheLastColumnMayHoldBars(t *testing.T) {
	jobs, err := ParseSqueue([]byte(rowWith("%r", "a|b|") + "\n"))
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	require.Equal(t, "a|b|", jobs[0].Reason)
}

func TestAJobsAddressNamesItsArrayOrItsHeterogeneousJob(t *testing.T) {
	for address, want := range map[string]Job{
		"7":                {ID: 7, ArrayID: 7},
		"5_2":              {ID: 7, ArrayID: 5},
		"7_[3-9%2]":        {ID: 7, ArrayID: 7},
		"7_[1,3,5,7,9,11,": {ID: 7, ArrayID: 7},
		"7+0":              {ID: 7, ArrayID: 7, HetID: 7},
		"6+1":              {ID: 7, ArrayID: 7, HetID: 6, HetOffset: 1},
	} {
		jobs, err := ParseSqueue([]byte(rowWith("%i", address)))
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		got := jobs[0]
		require.Equal(t, want, Job{ID: got.ID, ArrayID: got.ArrayID, HetID: got.HetID, HetOffset: got.HetOffset}, address)
	}
}

func TestAnEmptyQueueHasNoJobs(t *testing.T) {
	jobs, err := ParseSqueue(nil)
	require.NoError(t, err)
	require.Empty(t, jobs)
}

func TestParseSqueueRefuses(t *testing.T) {
	for _, test := range []struct {
		name, out, want string
	}{
		{"too few fields", rowWith("%r", "None") + "\n2|2\n", `squeue: line 2, "2|2": 2 fields, not 11`},
		{"a blank line", "\n", `squeue: line 1, "": 1 fields, not 11`},
		{"an id that is no number", rowWith("%A", "x"), `job id "x": not a number from 1 up`},
		{"the id 0", rowWith("%A", "0"), `job id "0": not a number from 1 up`},
		{"an id past 32 bits", rowWith("%A", "4294967296"), `job id "4294967296": not a number from 1 up`},
		{"a component whose leader is none", rowWith("%i", "x+1"), `job id "x": not a number from 1 up`},
		{"a component without a place", rowWith("%i", "1+"), `component "1+": not a number after the +`},
		{"an address that is none", rowWith("%i", "N/A"), `job id "N/A": not a number from 1 up`},
		{"a priority that is no number", rowWith("%Q", "high"), `priority "high": not a number`},
		{"a start that is no time", rowWith("%S", "soon"), `time "soon": not like 2006-01-02T15:04:05`},
		{"a malformed hostlist", rowWith("%N", "f[0"), `hostlist "f[0": a bracket that is never closed at character 2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			jobs, err := ParseSqueue([]byte(test.out))
			if !strings.HasPrefix(test.want, "squeue: ") {
				test.want = fmt.Sprintf("squeue: line 1, %q: %s", test.out, test.want)
			}
			require.EqualError(t, err, test.want)
			require.Nil(t, jobs)
		})
	}
}

func FuzzParseSqueue(f *testing.F) {
	for _, version := range versions(f) {
		f.Add(inSqueueFormat(fixture(f, version, "10-het.squeue.txt")))
	}
	f.Add([]byte("7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|BeginTime\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		jobs, err := ParseSqueue(out)
		if err != nil {
			require.Nil(t, jobs)
			require.NotContains(t, err.Error(), "\n")
		}
		for _, job := range jobs {
			require.NotZero(t, job.ID)
		}
	})
}
