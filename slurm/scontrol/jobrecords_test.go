package scontrol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// recordOf is what squeue prints of a job; the dummy puts its mark in.
func recordOf(id, adminComment string) string {
	return id + "|" + markOfCall + "|N/A|CONFIGURING|1|1|" + adminComment + "\n"
}

// asked are the calls' arguments, with the same mark in all.
func asked(t *testing.T, c *Client) []string {
	t.Helper()
	var lines []string
	for _, call := range calls(t, c) {
		line := strings.Join(call.Args, " ")
		lines = append(lines, strings.ReplaceAll(line, markIn(call.Args), "MARK"))
	}
	return lines
}

// gone is what Slurm's commands say of a job that is.
func gone() dummy {
	return dummy{Stderr: "slurm_load_jobs error: Invalid job id specified\n", Exit: 1}
}

func TestJobRecordsAreReadInOneCall(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf("1", "(null)") + recordOf("99", "(null)") + recordOf("3", "waits")})
	records, err := c.JobRecords(t.Context(), []uint32{3, 1, 2, 1})
	require.NoError(t, err, "a job that is gone is no error")
	require.Equal(t, []slurm.JobRecord{
		{ID: 1, State: slurm.JobConfiguring, Requeue: true, Batch: true},
		{ID: 3, State: slurm.JobConfiguring, Requeue: true, Batch: true, AdminComment: "waits"},
	}, records, "only those asked for, and each once")
	require.Equal(t, []string{"squeue -h -a -t all -O " + slurm.JobRecordFormat("MARK")}, asked(t, c))
}

func TestTheRecordOfOneJobIsReadByItself(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf("3", "(null)")})
	records, err := c.JobRecords(t.Context(), []uint32{3})
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, []string{"squeue -h -a -t all -O " + slurm.JobRecordFormat("MARK") + " -j 3"}, asked(t, c))

	c = newClient(t, gone())
	records, err = c.JobRecords(t.Context(), []uint32{3})
	require.NoError(t, err, "it is gone")
	require.Empty(t, records)
}

func TestNoJobRecordsAreNothingToRead(t *testing.T) {
	c := newClient(t, dummy{})
	records, err := c.JobRecords(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, records)
	require.Empty(t, calls(t, c))
}

// A3: the rows of an earlier call, which somebody has seen and had written into
// an AdminComment, are no rows of this one.
func TestEachCallForJobRecordsHasAMarkOfItsOwn(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf("1", "(null)")})
	for range 2 {
		_, err := c.JobRecords(t.Context(), []uint32{1})
		require.NoError(t, err)
	}
	both := calls(t, c)
	require.NotEqual(t, markIn(both[0].Args), markIn(both[1].Args))
}

func TestJobsThatCannotBeReadAreNotGone(t *testing.T) {
	c := newClient(t, dummy{Stderr: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", Exit: 1})
	_, err := c.JobRecords(t.Context(), []uint32{1})
	require.ErrorIs(t, err, ErrNoController)

	c = newClient(t, dummy{Stdout: "<html>\n"})
	_, err = c.JobRecords(t.Context(), []uint32{1, 2})
	require.ErrorContains(t, err, "not a job record")

	c = newClient(t, dummy{Stdout: "1|" + markOfCall + "|N/A\n" + recordOf("2", "(null)")})
	records, err := c.JobRecords(t.Context(), []uint32{1, 2})
	var doubt *slurm.JobRecordError
	require.ErrorAs(t, err, &doubt)
	require.Equal(t, uint32(1), doubt.ID)
	require.Len(t, records, 1, "the other's is as good as ever")
}
