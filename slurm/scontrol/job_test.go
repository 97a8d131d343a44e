package scontrol

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// jobVerb is a method that changes one job.
type jobVerb struct {
	name    string
	do      func(c *Client, ctx context.Context, id uint32) error
	command string // with %s for the job's address
}

func jobVerbs() []jobVerb {
	return []jobVerb{
		{"set the admin comment", func(c *Client, ctx context.Context, id uint32) error { return c.SetAdminComment(ctx, id, "a note") }, "scontrol update jobid=%s admincomment=a note"},
		{"notify", func(c *Client, ctx context.Context, id uint32) error { return c.NotifyJob(ctx, id, "a note") }, "scontrol -- notify %s a note"},
		{"hold", (*Client).HoldJob, "scontrol hold %s"},
		{"requeue", (*Client).RequeueJob, "scontrol requeue Incomplete %s"},
		{"cancel", (*Client).CancelJob, "scancel %s"},
	}
}

// squeueSays makes squeue print out when it is asked for addresses.
func squeueSays(out string) map[string]dummy {
	return map[string]dummy{slurm.JobAddressFormat: {Stdout: out}}
}

func TestJobIsChangedByItsOwnAddress(t *testing.T) {
	for _, verb := range jobVerbs() {
		for id, address := range map[uint32]string{5: "5_2", 10: "10+0", 11: "10+1"} { // 5 is the whole array
			c := newClient(t, dummy{Instead: squeueSays("6|5_0\n5|5_2\n11|10+1\n10|10+0\n")})
			require.NoError(t, verb.do(c, t.Context(), id))
			if id != 5 && verb.name != "set the admin comment" {
				address = "10" // only AdminComments differ between components
			}
			require.Equal(t, []string{fmt.Sprintf("squeue -a -r -t all -j %d -o %%A|%%i", id), fmt.Sprintf(verb.command, address)}, asked(t, c))
		}
	}
}

func TestJobWithoutAnAddressIsNotChanged(t *testing.T) {
	down := dummy{Stderr: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", Exit: 1}
	for _, verb := range jobVerbs() {
		for _, squeue := range []dummy{{Stdout: "5|5_[0-3%2]\n"}, down, gone(), {Stdout: "6|5_0\n"}} {
			c := newClient(t, dummy{Instead: map[string]dummy{slurm.JobAddressFormat: squeue}})
			err := verb.do(c, t.Context(), 5)
			require.Len(t, calls(t, c), 1)
			switch squeue.Stderr + squeue.Stdout {
			case down.Stderr:
				require.ErrorIs(t, err, ErrNoController)
			case "5|5_[0-3%2]\n":
				require.ErrorContains(t, err, verb.name+": squeue: ")
			default: // unknown, or only the array's other tasks remain
				if verb.name == "cancel" {
					require.NoError(t, err, "counts as cancelled")
				} else {
					require.ErrorIs(t, err, ErrUnknownJob, verb.name)
				}
			}
		}
	}
	err := newClient(t, dummy{Instead: squeueSays("")}).HoldJob(t.Context(), 5)
	require.EqualError(t, err, "hold: job 5: no such job")
}

// The texts are those of 22.05.8 and 24.11.5.
func TestSlurmErrorsAboutJobsAreRecognised(t *testing.T) {
	hold := func(c *Client) error { return c.HoldJob(t.Context(), 5) }
	note := func(c *Client) error { return c.SetAdminComment(t.Context(), 5, "x") }
	notify := func(c *Client) error { return c.NotifyJob(t.Context(), 5, "x") }
	for _, test := range []struct {
		do     func(*Client) error
		stderr string
		want   error
	}{
		{hold, "Job has already finished for job 5\nslurm_suspend error: Job has already finished\n", ErrJobEnded},
		{hold, "5_2: Job has already finished\n", ErrJobEnded},
		{notify, "job notify failure: Job/step already completing or completed\n", ErrJobEnded},
		{hold, "5_2: Invalid job id specified\n", ErrUnknownJob},
		{note, "Job has already finished for job 5+1\nslurm_suspend error: Job has already finished\n", nil},
		{note, "Invalid job id specified for job 5+1\n", ErrUnknownJob},
	} {
		c := newClient(t, dummy{Instead: squeueSays("5|5_2\n"), Stderr: test.stderr, Exit: 1})
		require.ErrorIs(t, test.do(c), test.want, test.stderr)
		require.Len(t, calls(t, c), 2)
	}

	refusal := dummy{Instead: squeueSays("5|5\n"), Stderr: "Requested operation is presently disabled for job 5\n", Exit: 1}
	require.EqualError(t, newClient(t, refusal).RequeueJob(t.Context(), 5),
		"scontrol requeue Incomplete 5: Requested operation is presently disabled for job 5")
}

func TestTextsForAnOwnerAreOneShortLine(t *testing.T) {
	text := "-Q\nfor capacity: " + strings.Repeat("é", 600)
	c := newClient(t, dummy{Instead: squeueSays("7|7\n")})
	require.NoError(t, c.SetAdminComment(t.Context(), 7, text))
	require.NoError(t, c.NotifyJob(t.Context(), 7, text))
	comment, note := calls(t, c)[1].Args[3], calls(t, c)[3].Args[4]
	require.Equal(t, "admincomment="+note, comment)
	require.True(t, strings.HasPrefix(note, "-Q for capacity: é"))
	require.True(t, strings.HasSuffix(note, "é…"))
	require.LessOrEqual(t, len(note), maxText)

	require.NoError(t, c.SetAdminComment(t.Context(), 7, ""))
	require.Equal(t, "admincomment=", calls(t, c)[5].Args[3])
}

// recordOf returns the squeue output for a job. The dummy inserts its mark.
func recordOf(id, adminComment string) string {
	return id + "|" + markOfCall + "|CONFIGURING|1|1|N/A|0:00|" + adminComment + "<" + markOfCall + ">(null)\n"
}

// asked returns the arguments of the calls, with the same mark in all of them.
func asked(t *testing.T, c *Client) []string {
	t.Helper()
	var lines []string
	for _, call := range calls(t, c) {
		line := strings.Join(call.Args, " ")
		lines = append(lines, strings.ReplaceAll(line, markIn(call.Args), "MARK"))
	}
	return lines
}

// gone makes the commands fail like Slurm's for an unknown job.
func gone() dummy {
	return dummy{Stderr: "slurm_load_jobs error: Invalid job id specified\n", Exit: 1}
}

func TestJobRecordsAreReadInOneCall(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf("1", "(null)") + recordOf("99", "(null)") + recordOf("3", "waits")})
	records, err := c.JobRecords(t.Context(), []uint32{3, 1, 2, 1})
	require.NoError(t, err, "an unknown job is not an error")
	require.Equal(t, []slurm.JobRecord{
		{ID: 1, State: slurm.JobConfiguring, Requeue: true, Batch: true},
		{ID: 3, State: slurm.JobConfiguring, Requeue: true, Batch: true, AdminComment: "waits"},
	}, records, "only the requested jobs, once each")
	require.Equal(t, []string{"squeue -a -r -t all -O " + slurm.JobRecordFormat("MARK") + " -j 1,2,3"}, asked(t, c))
}

func TestSingleJobRecordIsRequestedByID(t *testing.T) {
	c := newClient(t, gone())
	records, err := c.JobRecords(t.Context(), []uint32{3})
	require.NoError(t, err, "unknown job")
	require.Empty(t, records)
	_, err = c.JobRecords(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"squeue -a -r -t all -O " + slurm.JobRecordFormat("MARK") + " -j 3"}, asked(t, c), "no command for no jobs")
}

// A3: a user may have seen the output of an earlier call and copied its rows into an AdminComment.
// They are not rows of this call.
func TestEachJobRecordsCallDrawsItsOwnMark(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf("1", "(null)")})
	for range 2 {
		_, err := c.JobRecords(t.Context(), []uint32{1})
		require.NoError(t, err)
	}
	both := calls(t, c)
	require.NotEqual(t, markIn(both[0].Args), markIn(both[1].Args))
}

func TestUnreadJobsAreNotUnknown(t *testing.T) {
	c := newClient(t, dummy{Stderr: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", Exit: 1})
	_, err := c.JobRecords(t.Context(), []uint32{1})
	require.ErrorIs(t, err, ErrNoController)

	c = newClient(t, dummy{Stdout: "<html>\n"})
	_, err = c.JobRecords(t.Context(), []uint32{1, 2})
	require.ErrorContains(t, err, "not a job record")
}
