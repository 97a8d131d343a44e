package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// each compares a function's result for each text.
func each[T any](t *testing.T, of func(string) T, wants map[string]T) {
	t.Helper()
	for text, want := range wants {
		require.Equal(t, want, of(text), text)
	}
}

// eachRead compares the result of parse for each valid input.
func eachRead[I string | []byte, T any](t *testing.T, parse func(I) (T, error), wants map[string]T) {
	t.Helper()
	for input, want := range wants {
		got, err := parse(I(input))
		require.NoError(t, err, input)
		require.Equal(t, want, got, input)
	}
}

// eachRefused compares the error of parse for each invalid input, and checks that parse returns nothing else.
func eachRefused[I string | []byte, T any](t *testing.T, parse func(I) (T, error), wants map[string]string) {
	t.Helper()
	for input, want := range wants {
		got, err := parse(I(input))
		require.EqualError(t, err, want)
		require.Zero(t, got, input)
	}
}

// seeds adds texts to the corpus of a fuzz target.
func seeds(f *testing.F, texts ...string) {
	for _, text := range texts {
		f.Add(text)
	}
}

// limitOf returns a time limit.
func limitOf(d time.Duration) Limit { return Limit{Kind: LimitSet, Duration: d} }

// parsed returns the result of parse for valid output.
func parsed[I string | []byte, T any](t *testing.T, parse func([]byte) ([]T, error), out I) []T {
	t.Helper()
	rows, err := parse([]byte(out))
	require.NoError(t, err)
	return rows
}

// A1: any user may submit a job with a begin time in the year 11609.
func TestTimeAfterTheYear9000IsFar(t *testing.T) {
	for _, value := range []string{
		"9000-01-01T00:00:01", "10000-01-01T00:00:00", "292277026596-12-04T15:30:07",
		"1623969404--1365630463-32764T01", "-2147481749-1-1T00:00:00",
	} {
		at, err := parseTime(value)
		require.NoError(t, err, value)
		require.Equal(t, Far, at, value)
	}
	last := Far.Add(1<<63 - 1)
	text, err := last.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(text), "9292-")

	at, err := parseTime("8999-12-31T23:59:59")
	require.NoError(t, err)
	require.Equal(t, Far.Add(-time.Second), at)
	for _, value := range []string{"11609", "11609-05-28 x", "soon"} {
		_, err := parseTime(value)
		require.Error(t, err, value)
	}
}

// A1
func TestJobThatStartsAfterTheYear9999IsRead(t *testing.T) {
	require.Equal(t, Far, jobWith(t, "%S", "11609-05-28T03:06:55").Start)
	nodes := parsed(t, ParseNodes, nodeLine("f0", plainOS, "IDLE", " Reason=x [ann@11609-05-28T03:06:55] Comment=y"))
	require.Equal(t, []string{"x", "ann", "y"}, []string{nodes[0].Reason, nodes[0].ReasonBy, nodes[0].Comment})
}

// A5: the end of a reservation that starts in 9999.
func TestReservationThatEndsAfterTheYear9999IsRead(t *testing.T) {
	reservations := parsed(t, ParseReservations,
		"ReservationName=slurmflex-alpha-253402300740 StartTime=9999-12-31T23:59:00 EndTime=10000-12-30T23:59:00 Nodes=f0\n")
	require.Equal(t, Far, reservations[0].Start)
	require.Equal(t, Far, reservations[0].End)
}

const (
	reservationA = "ReservationName=a StartTime=2030-03-17T17:46:40 EndTime=2031-03-17T17:46:40 Nodes=f0 Flags=MAINT Users=root\n"
	reservationC = "ReservationName=c StartTime=2030-03-17T17:46:40 EndTime=2031-03-17T17:46:40 Nodes=f2 Flags=MAINT Users=root\n"
	partitionA   = "PartitionName=a MaxTime=UNLIMITED Nodes=f0 State=UP ResumeTimeout=GLOBAL\n"
	partitionC   = "PartitionName=c MaxTime=UNLIMITED Nodes=f2 State=UP ResumeTimeout=GLOBAL\n"
)

// A1
func TestUnreadableRowAffectsOnlyItsReservationOrPartition(t *testing.T) {
	costsOnly(t, ParseReservations, reservationA, reservationC, map[string]UnreadRow{
		"ReservationName=b StartTime=soon EndTime=None Nodes=f0\n": {Kind: ReservationRow, Name: "b", Why: `StartTime: time "soon": not like 2006-01-02T15:04:05`},
		"ReservationName=b Nodes=f0\n":                             {Kind: ReservationRow, Name: "b", Why: "StartTime= is missing"},
		"ReservationName=b StartTime=None EndTime=None\n":          {Kind: ReservationRow, Name: "b", Why: "without Nodes="},
		"x\n": {Kind: ReservationRow, Why: `"x": not a reservation record`},
	})
	costsOnly(t, ParsePartitions, partitionA, partitionC, map[string]UnreadRow{
		"PartitionName=b State=UP\n":          {Kind: PartitionRow, Name: "b", Why: "without Nodes="},
		"PartitionName=b Nodes=f[ State=UP\n": {Kind: PartitionRow, Name: "b", Why: `hostlist "f[": a number is missing at character 3`},
		"x\n":                                 {Kind: PartitionRow, Why: `"x": not a partition record`},
	})
}

// costsOnly checks that each of the rows is unread and that its neighbors are read.
func costsOnly[T any](t *testing.T, parse func([]byte) ([]T, error), before, after string, rows map[string]UnreadRow) {
	t.Helper()
	for row, want := range rows {
		costs(t, parse, before, row, after, want)
	}
}

// costs checks that of three texts of rows only the middle one is unread.
func costs[T any](t *testing.T, parse func([]byte) ([]T, error), before, rows, after string, want ...UnreadRow) {
	t.Helper()
	read, err := parse([]byte(before + rows + after))
	require.Equal(t, Unread(want), err)
	require.Equal(t, parsed(t, parse, before+after), read)
}

func TestUnreadRowIsNamedOnOneLine(t *testing.T) {
	require.Equal(t, `node "f\n0" cannot be read: why`, UnreadRow{Kind: NodeRow, Name: "f\n0", Why: "why"}.String())
	require.Equal(t, uint32(7), UnreadRow{Kind: JobRow, Name: "7"}.Job())
	require.Zero(t, UnreadRow{Kind: JobRow}.Job())
	require.Zero(t, UnreadRow{Kind: NodeRow, Name: "7"}.Job())
	require.EqualError(t, Unread{{Kind: JobRow, Why: "a"}, {Kind: JobRow, Why: "b"}, {Kind: JobRow, Why: "c"}}, "a job row cannot be read: a; and 2 more")
}

// The targets below replace one field of one row with hostile bytes and check that all other rows
// are read as before.

// spoil returns the lines with one field of one line replaced. Fields end at sep.
func spoil(lines []string, sep string, row, field uint8, hostile string) string {
	lines = slices.Clone(lines)
	fields := strings.Split(lines[row], sep)
	at := int(field) % len(fields)
	key, _, isRecord := strings.Cut(fields[at], "=")
	if isRecord {
		hostile = key + "=" + hostile
	}
	fields[at] = hostile
	lines[row] = strings.Join(fields, sep)
	return strings.Join(lines, "\n") + "\n"
}

// fuzzOneField replaces one field of one of three lines with hostile text and checks that the other
// rows are read as before. A row may become unread if the hostile text contains its name, because
// that name may then occur twice.
func fuzzOneField[T any](f *testing.F, lines []string, sep string, parse func([]byte) ([]T, error), nameOf func(T) string) {
	for i, text := range forged {
		f.Add(uint8(i), uint8(3*i), text)
	}
	f.Fuzz(func(t *testing.T, row, field uint8, hostile string) {
		row %= 3
		want := parsed(t, parse, strings.Join(lines, "\n")+"\n")
		got, err := parse([]byte(spoil(lines, sep, row, field, hostile)))
		var unread Unread
		require.NoError(t, unread.Take(err))
		for i, other := range want {
			name := nameOf(other)
			if i == int(row) || strings.Contains(hostile, name) &&
				slices.ContainsFunc(unread, func(r UnreadRow) bool { return r.Name == name }) {
				continue
			}
			require.Contains(t, got, other)
			require.Equal(t, 1, countOf(got, name, nameOf))
		}
	})
}

func countOf[T any](rows []T, name string, nameOf func(T) string) (n int) {
	for _, row := range rows {
		if nameOf(row) == name {
			n++
		}
	}
	return n
}

// forged are texts that end a row and start another.
var forged = []string{
	"", "|", "\n", "x\ny", "11609-05-28T03:06:55", "9", "\n9|9|N/A|15:00|RUNNING|f0|None|1|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|0|None", "\nNodeName=f2 RealMemory=1 State=DOWN BootTime=None",
	"\nReservationName=c StartTime=None Nodes=f0", "\nPartitionName=c Nodes=f0", "\x00\xff", " RealMemory=1 State=IDLE", "f[0-99999999]",
}

// A1
func FuzzOneHostileFieldOfSqueue(f *testing.F) {
	fuzzOneField(f, []string{
		"7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|m4rk<gres/gpu:8>m4rk|BeginTime",
		"8|8|N/A|15:00|RUNNING|f[0-1]|2026-11-21T03:00:00|42|flex|ann|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|0|None",
		"9|8+1|N/A|UNLIMITED|COMPLETING|f2|2026-11-21T03:00:00|42|flex|bob|ml|2|4|1|0|(null)|||(null)|m4rk<(null)>m4rk|0|None",
	}, "|", readSqueue, func(j Job) string { return string(rune('0' + j.ID)) })
}

// A1
func FuzzOneHostileFieldOfANode(f *testing.F) {
	var lines []string
	for _, name := range []string{"f0", "f1", "f2"} {
		line := nodeLine(name, plainOS, "IDLE+CLOUD", " Reason=bad [ann@2026-11-21T03:51:18] Comment=since Extra=x")
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	fuzzOneField(f, lines, " ", ParseNodes, func(n Node) string { return n.Name })
}
