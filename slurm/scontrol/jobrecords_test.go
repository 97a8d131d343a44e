package scontrol

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestJobRecordIsTheOneAskedForOfAWholeArray(t *testing.T) {
	c := newClient(t, dummy{Stdout: fixture(t, "24.11.5", "02-array.jobs.txt")})
	record, err := c.JobRecord(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, uint32(3), record.ID)
	require.Equal(t, []string{"f2"}, record.Nodes)
	require.Equal(t, []string{"scontrol", "-a", "-o", "show", "job", "3"}, calls(t, c)[0].Args)

	_, err = c.JobRecord(t.Context(), 99)
	require.ErrorIs(t, err, ErrUnknownJob)
	require.EqualError(t, err, "scontrol show job 99: no such job")
}

func TestJobRecordThatCannotBeTrustedIsAnError(t *testing.T) {
	jobs := strings.Replace(fixture(t, "24.11.5", "02-array.jobs.txt"), "JobName=exclusive", "JobName=x Command=y", 1)
	c := newClient(t, dummy{Stdout: jobs})
	_, err := c.JobRecord(t.Context(), 1)
	require.EqualError(t, err, "scontrol show job 1: record of job 1: Command= is in it 2 times, not once")
	_, err = c.JobRecord(t.Context(), 3)
	require.NoError(t, err, "another job's record is as good as ever")
}

// recordOf is what scontrol prints of a job.
func recordOf(t *testing.T, id uint32, name string) string {
	t.Helper()
	return strings.Replace(fixture(t, "24.11.5", "11-show-job-1.txt"), "JobId=1 JobName=exclusive", fmt.Sprintf("JobId=%d JobName=%s", id, name), 1)
}

// idsOf are the jobs of records.
func idsOf(records []slurm.JobRecord) []uint32 {
	ids := make([]uint32, len(records))
	for i, record := range records {
		ids[i] = record.ID
	}
	return ids
}

// many are more ids than are read one by one: 1 and up.
func many() []uint32 {
	ids := make([]uint32, maxSingleShows+1)
	for i := range ids {
		ids[i] = uint32(i + 1)
	}
	return ids
}

// gone is what Slurm's commands say of a job that is.
func gone() dummy {
	return dummy{Stderr: "slurm_load_jobs error: Invalid job id specified\n", Exit: 1}
}

func TestAFewJobRecordsAreReadOneByOne(t *testing.T) {
	c := newClient(t, dummy{Instead: map[string]dummy{
		"1": {Stdout: recordOf(t, 1, "a")},
		"2": gone(),
		"3": {Stdout: recordOf(t, 3, "c")},
	}})
	records, err := c.JobRecords(t.Context(), []uint32{3, 1, 2, 1})
	require.NoError(t, err, "a job that is gone is no error")
	require.Equal(t, []uint32{1, 3}, idsOf(records))
	require.Len(t, calls(t, c), 3, "no job is read twice")
}

func TestNoJobRecordsAreNothingToRead(t *testing.T) {
	c := newClient(t, dummy{})
	records, err := c.JobRecords(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, records)
	require.Empty(t, calls(t, c))
}

func TestManyJobRecordsAreReadAtOnce(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf(t, 1, "a") + recordOf(t, 99, "b") + recordOf(t, 3, "c")})
	records, err := c.JobRecords(t.Context(), many())
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 3}, idsOf(records), "only those asked for, and only those that are there")
	require.Len(t, calls(t, c), 1)
	require.Equal(t, []string{"scontrol", "-a", "-o", "show", "jobs"}, calls(t, c)[0].Args)

	c = newClient(t, dummy{Stdout: "No jobs in the system\n"})
	records, err = c.JobRecords(t.Context(), many())
	require.NoError(t, err)
	require.Empty(t, records)
}

func TestJobRecordsThatCannotBeTrustedAreLeftOutAndReported(t *testing.T) {
	c := newClient(t, dummy{Instead: map[string]dummy{
		"1": {Stdout: recordOf(t, 1, "x Command=y")},
		"2": {Stdout: recordOf(t, 2, "b")},
		"3": {Stdout: recordOf(t, 3, "x UserId=y")},
	}})
	records, err := c.JobRecords(t.Context(), []uint32{1, 2, 3})
	require.EqualError(t, err, "scontrol show job 1: record of job 1: Command= is in it 2 times, not once; "+
		"scontrol show job 3: record of job 3: UserId= is in it 2 times, not once")
	var doubt *slurm.JobRecordError
	require.ErrorAs(t, err, &doubt)
	require.Equal(t, []uint32{2}, idsOf(records))
}

func TestAForgedRecordInTheListSpoilsOnlyItsOwnersJob(t *testing.T) {
	forger := recordOf(t, 2, "x\nJobId=1 JobName=y")
	instead := map[string]dummy{"1": {Stdout: recordOf(t, 1, "a")}, "2": {Stdout: forger}}
	for id := uint32(4); id <= maxSingleShows+1; id++ {
		instead[strconv.FormatUint(uint64(id), 10)] = gone()
	}
	c := newClient(t, dummy{Stdout: recordOf(t, 1, "a") + forger + recordOf(t, 3, "c"), Instead: instead})
	records, err := c.JobRecords(t.Context(), many())
	require.EqualError(t, err, "scontrol show job 2: record of job 2: UserId= is in it 0 times, not once")
	require.ElementsMatch(t, []uint32{1, 3}, idsOf(records))
}

func TestJobsThatCannotBeReadAreNotGone(t *testing.T) {
	down := dummy{Stderr: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", Exit: 1}
	c := newClient(t, dummy{Instead: map[string]dummy{"1": {Stdout: recordOf(t, 1, "a")}, "2": down, "jobs": down}})
	for _, ids := range [][]uint32{{1, 2}, many()} {
		records, err := c.JobRecords(t.Context(), ids)
		require.ErrorIs(t, err, ErrNoController)
		require.Nil(t, records)
	}

	c = newClient(t, dummy{Stdout: "<html>\n"})
	for _, ids := range [][]uint32{{1, 2}, many()} {
		records, err := c.JobRecords(t.Context(), ids)
		require.ErrorContains(t, err, "not a job record")
		require.Nil(t, records)
	}
}
