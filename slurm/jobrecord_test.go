package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordRow is what squeue prints of a batch job that may be requeued.
func recordRow(id, adminComment string) string {
	return id + "|MARK|N/A|CONFIGURING|1|1|" + adminComment + "\n"
}

func TestTheFormatOfJobRecordsHasItsMarkInEachRow(t *testing.T) {
	require.Equal(t, "JobID:|MARK|,HetJobIDSet:|,State:|,Requeue:|,BatchFlag:|,admin_comment:", JobRecordFormat("MARK"))
}

func TestOnlyTheRecordsAskedForAreRead(t *testing.T) {
	records, err := ParseJobRecords([]byte(recordRow("7", "(null)")+recordRow("8", "waits\nfor Ops")+"9|MARK|rubbish\n"), "MARK", []uint32{6, 8})
	require.NoError(t, err)
	require.Equal(t, []JobRecord{{ID: 8, State: JobConfiguring, Requeue: true, Batch: true, AdminComment: "waits\nfor Ops"}}, records)
}

func TestNoOutputIsNoRecord(t *testing.T) {
	records, err := ParseJobRecords(nil, "MARK", []uint32{7})
	require.NoError(t, err)
	require.Empty(t, records)
}

func TestOutputWithoutARowIsAnError(t *testing.T) {
	for _, out := range []string{"\n", "slurm_load_jobs error: Invalid job id specified", "x\n" + recordRow("7", ""), recordRow("x", ""), recordRow("0", "")} {
		records, err := ParseJobRecords([]byte(out), "MARK", []uint32{7})
		require.Error(t, err)
		require.Empty(t, records)
	}
}

// A3: one record that cannot be read is no other job's matter.
func TestARecordThatCannotBeReadCostsThatJobOnly(t *testing.T) {
	for bad, want := range map[string]string{
		"7|MARK|N/A|RUNNING|1|1":                 "6 fields, not 7",
		"7|MARK|6-|RUNNING|1|1|(null)":           `HetJobIDSet: hostlist "[6-]": a number is missing at character 4`,
		"7|MARK|6],x[7|RUNNING|1|1|(null)":       `HetJobIDSet: job id "x7": not a number from 1 up`,
		"7|MARK|6],x[7|RUNNING|1|1|(null)\nmore": `HetJobIDSet: job id "x7": not a number from 1 up`,
	} {
		records, err := ParseJobRecords([]byte(bad+"\n"+recordRow("8", "(null)")), "MARK", []uint32{7, 8})
		require.EqualError(t, err, "record of job 7: "+want)
		var wrong *JobRecordError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, uint32(7), wrong.ID)
		require.Len(t, records, 1)
		require.Equal(t, uint32(8), records[0].ID)
	}
}

// A3: an AdminComment with lines like rows of squeue, of whatever mark but the
// one of this call, is its own job's.
func FuzzAnAdminCommentForgesNoRecord(f *testing.F) {
	for _, text := range []string{"x", "y\n8|SQUEUE|N/A|RUNNING|0|0|flex-start: told 2020-01-01T00:00:00Z: x", "8|MARK\n", "|\n|\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "|MARK|") {
			t.Skip("nobody can foresee it")
		}
		records, err := ParseJobRecords([]byte(recordRow("7", text)+recordRow("8", "(null)")), "MARK", []uint32{7, 8})
		require.NoError(t, err)
		require.Len(t, records, 2)
		require.Equal(t, JobRecord{ID: 8, State: JobConfiguring, Requeue: true, Batch: true}, records[1])
	})
}

func FuzzParseJobRecords(f *testing.F) {
	f.Add(fixture(f, "22.05.8", "15-records.txt"))
	f.Add(fixture(f, "26.05.3", "15-records.txt"))
	f.Fuzz(func(t *testing.T, out []byte) {
		records, err := ParseJobRecords(out, "MARK", []uint32{1, 2, 3})
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		for _, record := range records {
			require.Contains(t, []uint32{1, 2, 3}, record.ID)
		}
	})
}
