package slurm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recordFields are the fields between a job's user and its command.
const recordFields = "UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A Priority=1 Nice=0 Account=(null) QOS=(null) " +
	"JobState=CONFIGURING Reason=None Dependency=(null) Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0 " +
	"RunTime=00:00:05 TimeLimit=01:00:00 TimeMin=00:30:00 SubmitTime=2026-11-21T03:49:12 Partition=flex " +
	"AllocNode:Sid=ctl:1 ReqNodeList=(null) ExcNodeList=(null) NodeList=f[0-1] NumNodes=2 Features=(null) Network=(null) "

// recordLine is a record; head is what stands before the user, owner what
// stands behind the word Command.
func recordLine(head, owner string) string {
	return head + " " + recordFields + "Command=" + owner + "\n"
}

const plainOwner = "/home/ann/run.sh WorkDir=/home/ann StdErr=/dev/null StdIn=/dev/null StdOut=/dev/null"

func TestParseJobRecordsReadsARecord(t *testing.T) {
	records, err := ParseJobRecords([]byte(recordLine("JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=x",
		"/home/ann/run.sh WorkDir=/home/ann AdminComment=waiting for capacity  Comment=mine, StdErr=/dev/null")))
	require.NoError(t, err)
	require.Equal(t, []JobRecord{{
		ID: 7, ArrayID: 5, ArrayTask: "2", State: JobConfiguring, Reason: "None", Requeue: true, Batch: true, Restarts: 2,
		Limit:        Limit{Kind: LimitSet, Duration: time.Hour},
		MinLimit:     Limit{Kind: LimitSet, Duration: 30 * time.Minute},
		Partition:    "flex",
		Nodes:        []string{"f0", "f1"},
		AdminComment: "waiting for capacity", Comment: "mine,",
	}}, records)
}

func TestTheComponentsOfAHeterogeneousJobAreThoseAfterItsName(t *testing.T) {
	for set, want := range map[string][]uint32{"6-7": {6, 7}, "6": {6}, "6-8,11": {6, 7, 8, 11}} {
		head := "JobId=6 HetJobId=6 HetJobOffset=0 JobName=x HetJobIdSet=1-2 HetJobIdSet=" + set
		records, err := ParseJobRecords([]byte(recordLine(head, plainOwner)))
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.Equal(t, want, records[0].HetIDs)
	}
}

func TestNoJobsAreNone(t *testing.T) {
	records, err := ParseJobRecords([]byte("No jobs in the system\n"))
	require.NoError(t, err)
	require.Empty(t, records)
}

func TestOutputWithoutAnyRecordIsAnError(t *testing.T) {
	for _, out := range []string{"", "\n", "slurm_load_jobs error: Invalid job id specified", "x\n" + recordLine("JobId=7 JobName=x", plainOwner)} {
		records, err := ParseJobRecords([]byte(out))
		require.ErrorContains(t, err, "not a job record")
		require.Empty(t, records)
	}
}

func TestAForgedFieldNeverWins(t *testing.T) {
	full := recordLine("JobId=7 JobName=x", plainOwner)
	for _, test := range []struct {
		name, out string
		want      string // what is wrong with job 7; "" when it reads well
	}{
		{"a name like fields", recordLine("JobId=7 JobName=TimeLimit=10:00 JobId=9 NodeList=f9", plainOwner), ""},
		{"a command line like fields", recordLine("JobId=7 JobName=x", "x SubmitLine=sbatch TimeLimit=10:00 NodeList=f9 WorkDir=/"), ""},
		{"a name like the record's end", strings.TrimSuffix(recordLine("JobId=7 JobName=x", "y"), "\n") + " " + recordFields + "Command=z", "UserId= is in it 2 times, not once"},
		{"a name with a user", recordLine("JobId=7 JobName=x UserId=root(0)", plainOwner), "UserId= is in it 2 times, not once"},
		{"a name with a command", recordLine("JobId=7 JobName=x Command=y", plainOwner), "Command= is in it 2 times, not once"},
		{"a directory with a command", recordLine("JobId=7 JobName=x", "y WorkDir=/x Command=y"), "Command= is in it 2 times, not once"},
		{
			"an account like fields", strings.Replace(full, "Account=(null)", "Account=a JobState=RUNNING TimeLimit=10:00", 1),
			"JobState= is in it 2 times, not once",
		},
		{"two comments of the admin", recordLine("JobId=7 JobName=x", "y WorkDir=/x AdminComment=forged AdminComment=true"), "AdminComment= is in it 2 times, not once"},
		{"two comments", recordLine("JobId=7 JobName=x", "y Comment=forged Comment=true"), "Comment= is in it 2 times, not once"},
		{"a record cut off", "JobId=7 JobName=x UserId=ann(1000) JobState=RUNNING", "Command= is in it 0 times, not once"},
		{"a record without nodes", strings.Replace(full, " NodeList=f[0-1]", "", 1), "NodeList= is in it 0 times, not once"},
		{"a malformed hostlist", strings.Replace(full, "f[0-1]", "f[0-", 1), `hostlist "f[0-": a number is missing at character 5`},
		{"a malformed number", strings.Replace(full, "Restarts=2", "Restarts=two", 1), `number of restarts "two": not a number`},
		{"a name like a set of components", recordLine("JobId=7 JobName=x HetJobIdSet=8-9", plainOwner), ""},
		{"a component without the others", recordLine("JobId=7 HetJobId=6 HetJobOffset=1 JobName=x", plainOwner), "no HetJobIdSet= before UserId="},
		{"a malformed set of components", recordLine("JobId=7 HetJobId=6 HetJobOffset=1 JobName=x HetJobIdSet=6-", plainOwner), `HetJobIdSet: hostlist "[6-]": a number is missing at character 4`},
		{"a set with a name in it", recordLine("JobId=7 HetJobId=6 HetJobOffset=1 JobName=x HetJobIdSet=6],x[7", plainOwner), `HetJobIdSet: job id "x7": not a number from 1 up`},
		{"a malformed array id", recordLine("JobId=7 ArrayJobId=x JobName=x", plainOwner), `ArrayJobId: job id "x": not a number from 1 up`},
	} {
		t.Run(test.name, func(t *testing.T) {
			bystander := recordLine("JobId=8 JobName=y", plainOwner)
			records, err := ParseJobRecords([]byte(test.out + "\n" + bystander))
			if test.want == "" {
				require.NoError(t, err)
				require.Len(t, records, 2)
				require.Equal(t, Limit{Kind: LimitSet, Duration: time.Hour}, records[0].Limit)
				require.Equal(t, []string{"f0", "f1"}, records[0].Nodes)
				return
			}
			require.EqualError(t, err, "record of job 7: "+test.want)
			var wrong *JobRecordError
			require.True(t, errors.As(err, &wrong))
			require.Equal(t, uint32(7), wrong.ID)
			require.Len(t, records, 1, "the other job is read all the same")
			require.Equal(t, uint32(8), records[0].ID)
		})
	}
}

func TestARecordForgedByANewlineInANameDoesNotCount(t *testing.T) {
	// Job 9 is called "x<newline>JobId=7 JobName=y": its own record breaks off.
	broken := "JobId=9 JobName=x\nJobId=7 JobName=y " + recordFields + "Command=" + plainOwner + "\n"
	records, err := ParseJobRecords([]byte(recordLine("JobId=7 JobName=true", plainOwner) + broken))
	require.EqualError(t, err, "record of job 9: UserId= is in it 0 times, not once; "+
		"record of job 7: there are 2 of it; record of job 7: there are 2 of it")
	require.Empty(t, records)

	// It may also bring an end for its own record.
	forged := recordLine("JobId=9 JobName=x", plainOwner) + recordLine("JobId=7 JobName=y", plainOwner)
	records, err = ParseJobRecords([]byte(recordLine("JobId=7 JobName=true", plainOwner) + forged))
	require.ErrorContains(t, err, "record of job 7: there are 2 of it")
	require.Len(t, records, 1)
	require.Equal(t, uint32(9), records[0].ID)
}

func TestARecordWithAnImpossibleIDIsLeftOut(t *testing.T) {
	records, err := ParseJobRecords([]byte(recordLine("JobId=7 JobName=x", plainOwner) + recordLine("JobId=0 JobName=y", plainOwner)))
	require.EqualError(t, err, `job id "0": not a number from 1 up`)
	require.Len(t, records, 1)
}

func FuzzParseJobRecords(f *testing.F) {
	for _, version := range versions(f) {
		f.Add(fixture(f, version, "10-het.jobs.txt"))
		f.Add(fixture(f, version, "11-show-job-1.txt"))
	}
	f.Add([]byte(recordLine("JobId=7 JobName=x", "y Comment=a AdminComment=b")))
	f.Fuzz(func(t *testing.T, out []byte) {
		records, err := ParseJobRecords(out)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		seen := make(map[uint32]bool)
		for _, record := range records {
			require.False(t, seen[record.ID])
			seen[record.ID] = true
		}
	})
}

// A job's owner chooses its name; whatever it is, the record says what Slurm
// says or does not count.
func FuzzAJobsNameForgesNothing(f *testing.F) {
	for _, name := range []string{"x", "TimeLimit=00:10:00 JobId=7", "x UserId=root(0)", "x\nJobId=7 JobName=y", " Command=", "x\n   UserId="} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		records, err := ParseJobRecords([]byte(recordLine("JobId=7 JobName="+name, plainOwner)))
		for _, record := range records {
			if record.ID == 7 {
				require.Equal(t, Limit{Kind: LimitSet, Duration: time.Hour}, record.Limit)
				require.Equal(t, []string{"f0", "f1"}, record.Nodes)
				return
			}
		}
		require.Error(t, err)
	})
}
