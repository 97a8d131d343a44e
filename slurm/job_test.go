package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// It lacks the job's name (%j), into which an owner writes rows.
func TestSqueueFormat(t *testing.T) {
	require.Equal(t, "%A|%i|%K|%l|%T|%N|%S|%Q|%P|m4rk<%u>m4rk|m4rk<%a>m4rk|%D|%C|%c|%m|%Y|m4rk<%n>m4rk|m4rk<%x>m4rk|%v|m4rk<%f>m4rk|m4rk<%b>m4rk|m4rk<%r>m4rk", SqueueFormat("m4rk"))
}

// readSqueue calls ParseSqueue with the mark m4rk.
func readSqueue(out []byte) ([]Job, error) { return ParseSqueue(out, "m4rk", false) }

func TestParseSqueueReadsEveryColumn(t *testing.T) {
	require.Equal(t, []Job{
		{
			ID: 7, ArrayID: 5, ArrayTask: "3-9%2", Limit: limitOf(24 * time.Hour),
			State: JobPending, Priority: 42, Partition: "flex,all", User: "ann", Account: "ml", NodeCount: 2, CPUs: 4, NodeCPUs: 1, Memory: "0", Gres: "gres/gpu:8", Reason: "BeginTime",
		},
		{
			ID: 8, ArrayID: 8, Limit: Limit{Kind: Unlimited}, State: JobRunning, Nodes: []string{"f0", "f1", "s0"},
			Start: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Priority: 4294901759, Partition: "flex", User: "bob", NodeCount: 3, CPUs: 4, NodeCPUs: 1, Memory: "0", Reason: "None",
		},
	}, parsed(t, readSqueue, "7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|m4rk<ml>m4rk|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<gres/gpu:8>m4rk|BeginTime\n"+
		"8|8|N/A|UNLIMITED|RUNNING|f[0-1],s0|2026-11-21T03:00:00|4294901759|flex|bob|(null)|3|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<N/A>m4rk|None\n"))
	for column, want := range map[string]Job{"%n": {Needs: []string{"f0"}}, "%x": {Excludes: []string{"f0"}}, "%v": {Reservation: "f0"}} {
		got := jobWith(t, column, "f0")
		require.Equal(t, want, Job{Needs: got.Needs, Excludes: got.Excludes, Reservation: got.Reservation}, column)
	}
	planned := jobWith(t, "%Y", "f[0-1]").Planned
	require.Equal(t, []string{"f0", "f1"}, planned)
	require.Equal(t, "rack1 h100", jobWith(t, "%f", "m4rk<rack1|h100>m4rk").Features)
	for field, want := range map[string]string{"N/A": "", "": "", "m4rk<>m4rk": "", "m4rk<a|b>m4rk": "a b"} {
		require.Equal(t, want, jobWith(t, "%a", field).Account)
	}
	account := jobWith(t, "%a", strings.Repeat("ü", 900)).Account
	require.LessOrEqual(t, len(account), maxAccount+len("…"))
	require.True(t, strings.HasSuffix(account, "ü…"))
	require.Equal(t, "a|b|", jobWith(t, "%r", "a|b|").Reason, "the last column may hold bars")
	require.Empty(t, parsed(t, readSqueue, ""), "an empty queue")
}

// squeue 26.05 shows RESV_DEL_HOLD from the time that a reservation vanishes until its job starts, also
// once the job is released and uses another reservation.
func TestJobWhoseReservationVanishedIsPending(t *testing.T) {
	row := strings.Replace(rowWith("%T", "RESV_DEL_HOLD"), "|f0|", "||", 1)
	require.Equal(t, JobPending, parsed(t, readSqueue, row+"\n")[0].State)
	require.True(t, jobWith(t, "%T", "RESV_DEL_HOLD").State.HoldsNodes(), "a running job")
}

// scontrol requeuehold state=SpecialExit, or RequeueExitHold in slurm.conf.
func TestJobHeldAsSpecialExitIsPending(t *testing.T) {
	require.Equal(t, JobPending, jobWith(t, "%T", "SPECIAL_EXIT").State)
}

// jobWith returns the job of a valid row of squeue with one field replaced.
func jobWith(t *testing.T, column, field string) Job {
	t.Helper()
	return parsed(t, readSqueue, rowWith(column, field)+"\n")[0]
}

// rowWith returns a valid row of squeue with one field replaced.
func rowWith(column, field string) string {
	fields := strings.Split("7|7|N/A|15:00|RUNNING|f0|2026-11-21T03:00:00|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|0|None", "|")
	fields[slices.Index(squeueColumns, column)] = field
	return strings.Join(fields, "|")
}

func TestJobAddressNamesArrayOrHeterogeneousJob(t *testing.T) {
	for address, want := range map[string]Job{
		"7":                {ID: 7, ArrayID: 7},
		"5_2":              {ID: 7, ArrayID: 5},
		"7_[3-9%2]":        {ID: 7, ArrayID: 7},
		"7_[1,3,5,7,9,11,": {ID: 7, ArrayID: 7},
		"7+0":              {ID: 7, ArrayID: 7, HetID: 7},
		"6+1":              {ID: 7, ArrayID: 7, HetID: 6, HetOffset: 1},
	} {
		got := jobWith(t, "%i", address)
		require.Equal(t, want, Job{ID: got.ID, ArrayID: got.ArrayID, HetID: got.HetID, HetOffset: got.HetOffset}, address)
	}
}

func TestParseSqueueRefuses(t *testing.T) {
	eachRefused(t, readSqueue, map[string]string{
		"\n":                         `squeue: "": 1 fields, not 22`,
		"slurm_load_jobs error: x\n": `squeue: "slurm_load_jobs error: x": 1 fields, not 22`,
		rowWith("%r", "None") + "\n8|8|N/A|15:00|RUNNING|f": "squeue: the output breaks off in its last line",
	})
}

func TestUnreadableRowAffectsOnlyItsJob(t *testing.T) {
	const before = "6|6|N/A|15:00|RUNNING|f1|2026-11-21T03:00:00|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|0|None\n"
	const behind = "8|8|N/A|15:00|PENDING||N/A|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<N/A>m4rk|Resources\n"
	known := func(state JobState, nodes ...string) UnreadRow {
		return UnreadRow{Kind: JobRow, Name: "7", State: state, Nodes: nodes, NodesKnown: true}
	}
	nameless, id := UnreadRow{Kind: JobRow}, UnreadRow{Kind: JobRow, Name: "7"}
	for _, test := range []struct {
		name, rows, why string
		want            UnreadRow
	}{
		{"an id that is not a number", rowWith("%A", "x"), `"x|7|N/A|15:00|RUNNING|f0|2026-11-21T03:00:00|42|flex|ann|ml|2|4|1|0|(null)|||(nu…": job id "x": not a number from 1 up`, nameless},
		{"a component without an index", rowWith("%i", "1+"), `component "1+": not a number after the +`, id},
		{"a malformed hostlist", rowWith("%N", "f[0"), `hostlist "f[0": a bracket that is never closed at character 2`, UnreadRow{Kind: JobRow, Name: "7", State: JobRunning}},
		{"a bar that shifts the fields behind it", rowWith("%K", "1|2"), `time "f0": not like 2006-01-02T15:04:05`, id},
		{"a line cut off in its nodes", "7|7|N/A|15:00|RUNNING|f0", `6 fields, not 22`, UnreadRow{Kind: JobRow, Name: "7", State: JobRunning}},
		{"a line cut off in its GPUs", "7|7|N/A|15:00|RUNNING|f0|2026-11-21T03:00:00|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<gres/gpu:a", `21 fields, not 22`, known(JobRunning, "f0")},
		{"a start that is not a time", rowWith("%S", "soon"), `time "soon": not like 2006-01-02T15:04:05`, known(JobRunning, "f0")},
		{"a priority that is not a number, for a job without nodes", "7|7|N/A|15:00|PENDING||N/A|x|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|0|None", `priority "x": not a number`, known(JobPending)},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.Why = test.why
			costs(t, readSqueue, before, test.rows+"\n", behind, test.want)
		})
	}
	jobs, err := readSqueue([]byte(rowWith("%A", "") + "\n"))
	require.ErrorAs(t, err, new(Unread), "the only row")
	require.Empty(t, jobs)
	t.Run("if ambiguous lines follow, one more row is unread", func(t *testing.T) {
		const ambiguous = "7|7|N/A|15:00|RUNNING|f0|2026-11-21T03:00:00|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<x\n9|9|N/A|1\n"
		cut := known(JobRunning, "f0")
		cut.Why = "21 fields, not 22"
		costs(t, readSqueue, before, ambiguous, behind, cut, UnreadRow{Kind: JobRow, Why: `"": 1 fields, not 22`})
	})
	t.Run("a job listed twice holds the nodes of both rows", func(t *testing.T) {
		jobs, err := readSqueue([]byte(before + rowWith("%N", "f2") + "\n" + behind + rowWith("%N", "f3") + "\n"))
		first, second := known(JobRunning, "f2"), known(JobRunning, "f3")
		first.Why, second.Why = "it is listed 2 times", "it is listed 2 times"
		require.Equal(t, Unread{first, second}, err)
		require.Equal(t, parsed(t, readSqueue, before+behind), jobs)
	})
}

// squeue -r prints the array's raw id for each task that shares its record.
func TestParseSqueueReadsTasksThatShareARecord(t *testing.T) {
	row := func(task string) string {
		return "7|7_" + task + "|" + task + "|1:00:00|PENDING||N/A|1|flex|ann|ml|1|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<N/A>m4rk|Resources\n"
	}
	jobs, err := ParseSqueue([]byte(row("0")+row("1")), "m4rk", true)
	require.NoError(t, err)
	require.Len(t, jobs, 2)
	jobs, err = ParseSqueue([]byte(row("0")+row("1")+row("0")), "m4rk", true)
	require.ErrorContains(t, err, "job 7 cannot be read: it is listed 2 times; and 1 more")
	require.Len(t, jobs, 1)
}

// These are the outputs of squeue -o %b on 22.05.8, 24.11.5 and 26.05.5 for values that sbatch
// accepts.
func TestRequestedGPUsPerNode(t *testing.T) {
	each(t, func(gres string) int { return Job{Gres: gres}.GPUs() }, map[string]int{
		"gres:gpu:8": 8, "gres/gpu:h100:8": 8, "gres:gpu": 1, "gres/gpu:h100:2,gres/gpu:a100:1": 3, "gres/nic:1,gres/gpu:2": 2, "gres:gpu:a b:1": 1,
		"": 0, "gres/nic:1": 0, "gres/gpux:1": 0, "gres/gpu:h100": 1, "gres/gpu:1K": 0, "gres/gpu:9999999999": 0, "gres/gpu:1,gres/gpu:a:b:1": 0,
	})
}

// ownersTexts are texts that users wrote on real Slurm, or may write.
var ownersTexts = []string{
	"evil\n8|mallory\n999|x", "8|x,f0", "f0,9|a||slurmflex-alpha.salvage-8|8|None", "x\n8|8|N/A|UNLIMITED|RUNNING|f0|N/A|1|flex|root|ml|1|||(null)|0|None\ny",
	"\n8|mallory", "|", "\r\n", "\x1b[31m\x00\xff", "=cmd|' /C calc'!A0", ">", "<", "m4r", "gres:gpu:a\nb:1", "gres/gpu:|:1", "(null)\n", strings.Repeat("x", 1<<16),
}

// D1: on 24.11 sbatch accepts --nodelist=$'f0\n9|x', and %n prints 9|x,f0.
// J11: also with a bar in the name of the user. sbatch accepts --account=$'evil\n8|mallory\n999|x' if
// Slurm does not check accounts.
func FuzzNoTextOfAnOwnerForgesARow(f *testing.F) {
	for column := range freeColumns {
		for _, text := range ownersTexts {
			f.Add(uint8(column), text)
		}
	}
	const other = "8|8|N/A|15:00|PENDING||N/A|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<gres/gpu:8>m4rk|Resources\n"
	f.Fuzz(func(t *testing.T, column uint8, text string) {
		if strings.Contains(text, "m4rk") {
			t.Skip("an unpredictable mark")
		}
		jobs := parsed(t, readSqueue, rowWith(freeColumns[int(column)%len(freeColumns)], "m4rk<"+text+">m4rk")+"\n"+other)
		require.Len(t, jobs, 2)
		require.Equal(t, parsed(t, readSqueue, other)[0], jobs[1])
		want := jobWith(t, "%A", "7")
		want.User, want.Account, want.Needs, want.Excludes, want.Gres, want.Reason = jobs[0].User, jobs[0].Account, jobs[0].Needs, jobs[0].Excludes, jobs[0].Gres, jobs[0].Reason
		want.Features, want.Gres = jobs[0].Features, jobs[0].Gres
		require.Equal(t, want, jobs[0], "nothing else of its own row")
		require.NotRegexp(t, `[[:cntrl:]|]`, jobs[0].Reason+jobs[0].Account)
	})
}

func TestParseJobAddress(t *testing.T) {
	const array = "34|34_[2,7%2]\n35|34_1\n36|34_0\n"
	for out, test := range map[string]struct {
		id   uint32
		want string
	}{
		"9|9\n":              {9, "9"},
		array:                {35, "34_1"},
		"26|24_1\n24|24_2\n": {24, "24_2"}, // has its array's id
		"7|7_[2%2]\n8|7_1\n": {7, "7_2"},   // the last pending task
		"39|38+1\n38|38+0\n": {38, "38+0"},
		"39|38+1\n":          {39, "38+1"},
		"34|34_0\n":          {3, ""},
		"":                   {9, ""},
		"x|\n9|9\n8|<\n":     {9, "9"}, // A1: rows that cannot be read
	} {
		address, err := ParseJobAddress(test.id, []byte(out))
		require.NoError(t, err)
		require.Equal(t, test.want, address, out)
	}
}

func TestParseJobAddressRefuses(t *testing.T) {
	address := func(out []byte) (string, error) { return ParseJobAddress(34, out) }
	eachRefused(t, address, map[string]string{
		"34|34_[2,7%2]\n":    `squeue: job 34 stands for array tasks without records of their own`,
		"34|34_2\n34|34_7\n": `squeue: job 34 stands for array tasks without records of their own`,
		"34|34+\n":           `squeue: "34|34+": not a job id and an address`,
		"34|\n":              `squeue: "34|": not a job id and an address`,
		"<html>\n":           `squeue: "<html>": not a job id and an address`,
		"34|34\n34|35\n":     `squeue: job 34 is listed twice`,
		"34|34_2":            `squeue: the output breaks off in its last line`,
	})
}

// recordRow returns the squeue row of a batch job that may be requeued.
func recordRow(id, adminComment string) string {
	return id + "|MARK|CONFIGURING|1|1|N/A|0:00|" + adminComment + "<MARK>(null)\n"
}

// recordsOf returns the records of jobs in valid output of squeue.
func recordsOf(t *testing.T, out string, ids ...uint32) []JobRecord {
	t.Helper()
	records, err := ParseJobRecords([]byte(out), "MARK", ids)
	require.NoError(t, err)
	return records
}

func TestJobRecordFormatMarksEachRow(t *testing.T) {
	require.Equal(t, "JobID:|MARK|,State:|,Requeue:|,BatchFlag:|,Deadline:|,MinTime:|,admin_comment:<MARK>,comment:", JobRecordFormat("MARK"))
}

func TestOnlyRequestedRecordsAreRead(t *testing.T) {
	records := recordsOf(t, recordRow("7", "(null)")+recordRow("8", "waits\nfor Ops")+"9|MARK|rubbish\n", 6, 8)
	require.Equal(t, []JobRecord{{ID: 8, State: JobConfiguring, Requeue: true, Batch: true, AdminComment: "waits\nfor Ops"}}, records)
	require.Empty(t, recordsOf(t, "", 7), "empty output means no records")
}

func TestOutputWithoutARowIsAnError(t *testing.T) {
	for _, out := range []string{"\n", "slurm_load_jobs error: Invalid job id specified", "x\n" + recordRow("7", ""), recordRow("x", ""), recordRow("0", "")} {
		records, err := ParseJobRecords([]byte(out), "MARK", []uint32{7})
		require.Error(t, err)
		require.Empty(t, records)
	}
}

// A3: one unreadable record must not affect other jobs.
func TestUnreadableRecordAffectsOnlyItsJob(t *testing.T) {
	for row, why := range map[string]string{
		"7|MARK|RUNNING|1|1\n":                             "5 fields, not 8",
		"7|MARK|RUNNING|1|x|N/A|0:00|(null)<MARK>(null)\n": `BatchFlag "x"`,
	} {
		records, err := ParseJobRecords([]byte(row+recordRow("8", "(null)")), "MARK", []uint32{7, 8})
		require.Equal(t, Unread{{Kind: JobRow, Name: "7", Why: why}}, err)
		require.Len(t, records, 1)
		require.Equal(t, uint32(8), records[0].ID)
	}
}

// slurmctld counts failed launches of a batch job in its BatchFlag.
func TestRelaunchedBatchJobIsABatchJob(t *testing.T) {
	require.True(t, recordsOf(t, "7|MARK|CONFIGURING|1|3|N/A|0:00|(null)<MARK>(null)\n", 7)[0].Batch)
}

// A3: an AdminComment may have lines like rows of squeue. Unless they contain this call's mark,
// they stay part of their own job's comment.
func FuzzAnAdminCommentForgesNoRecord(f *testing.F) {
	seeds(f, []string{"x", "y\n8|SQUEUE|N/A|RUNNING|0|0|flex-start: told 2020-01-01T00:00:00Z: x", "8|MARK\n", "|\n|\r\n", "<MARK"}...)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "|MARK|") || strings.Contains(text, "<MARK>") {
			t.Skip("an unpredictable mark")
		}
		records := recordsOf(t, recordRow("7", text)+recordRow("8", "(null)"), 7, 8)
		require.Len(t, records, 2)
		require.Equal(t, JobRecord{ID: 8, State: JobConfiguring, Requeue: true, Batch: true}, records[1])
	})
}

func TestArrayTasksHaveAddresses(t *testing.T) {
	for text, want := range map[string]struct {
		tasks    []int
		throttle int
		address  string
	}{
		"3":           {[]int{3}, 0, "7_3"},
		"2%2":         {[]int{2}, 2, "7_2"}, // the last pending task
		"0-2,5%1":     {[]int{0, 1, 2, 5}, 1, ""},
		"0-6:3":       {[]int{0, 3, 6}, 0, ""},
		"1,3-4,...%2": {[]int{1, 3, 4}, 2, ""},
	} {
		j := Job{ID: 9, ArrayID: 7, ArrayTask: text}
		require.Equal(t, want.tasks, j.Tasks(), text)
		require.Equal(t, want.throttle, j.Throttle(), text)
		require.Equal(t, want.address, j.Address(), text)
	}
	require.Equal(t, "7", Job{ID: 7, ArrayID: 7}.Address())
	require.Equal(t, "7+1", Job{ID: 8, ArrayID: 8, HetID: 7, HetOffset: 1}.Address())
	for address, whole := range map[string]string{"7": "7", "7_3": "7", "7+1": "7"} {
		require.Equal(t, whole, WholeOf(address))
	}
}

func TestThrottleIsReadFromARecordsFirstFields(t *testing.T) {
	for record, want := range map[string]struct {
		throttle int
		isRead   bool
	}{
		"JobId=12 ArrayJobId=7 ArrayTaskId=0 ArrayTaskThrottle=2 JobName=wrap UserId=root(0)\n":                                        {2, true},
		"JobId=7 ArrayJobId=7 ArrayTaskId=2-9%2 ArrayTaskThrottle=2 JobName=wrap\n":                                                    {2, true},
		"JobId=7 ArrayJobId=7 ArrayTaskId=3 JobName=x ArrayTaskThrottle=5 JobName=\nJobId=7 ArrayJobId=7 ArrayTaskThrottle=5 JobName=": {0, true},
		"JobId=8 ArrayJobId=8 ArrayTaskId=3 ArrayTaskThrottle=2 JobName=wrap\n":                                                        {0, false},
		"JobId=7 JobName=wrap ArrayJobId=7 ArrayTaskId=3 ArrayTaskThrottle=2 JobName=\n":                                               {0, false},
		"": {0, false},
	} {
		throttle, err := ParseThrottle(7, []byte(record))
		require.Equal(t, want.isRead, err == nil, record)
		require.Equal(t, want.throttle, throttle, record)
	}
}
