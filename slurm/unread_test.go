package slurm

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parsed is what a parser reads of good output.
func parsed[T any](t *testing.T, parse func([]byte) ([]T, error), out string) []T {
	t.Helper()
	rows, err := parse([]byte(out))
	require.NoError(t, err)
	return rows
}

// requireUnread makes sure that rows come with no error but that some could not
// be read, and that an error is one line.
func requireUnread[T any](t *testing.T, err error, rows []T) {
	t.Helper()
	if err == nil {
		return
	}
	require.NotContains(t, err.Error(), "\n")
	if unread := (Unread{}); errors.As(err, &unread) {
		require.NotEmpty(t, unread)
		return
	}
	require.Empty(t, rows)
}

// A1: any user may submit a job that begins in the year 11609.
func TestATimeAfterTheYear9000IsFar(t *testing.T) {
	for _, value := range []string{
		"9000-01-01T00:00:01", "9999-12-31T23:59:59", "10000-01-01T00:00:00", "11609-05-28T03:06:55", "292277026596-12-04T15:30:07",
		"1623969404-25-32756T01:46:39", "1623969404--1365630463-32764T01", "-2147481749-1-1T00:00:00",
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
	for _, value := range []string{"26-11-21T03:00:00", "11609", "11609-05-28 x", "soon", "#####"} {
		_, err := parseTime(value)
		require.Error(t, err, value)
	}
}

// A1
func TestAJobThatBeginsAfterTheYear9999IsReadAsTheOthersAre(t *testing.T) {
	require.Equal(t, Far, parsed(t, ParseSqueue, rowWith("%S", "11609-05-28T03:06:55")+"\n")[0].Start)
	nodes := parsed(t, ParseNodes, nodeLine("f0", plainOS, "IDLE", " Reason=x [ann@11609-05-28T03:06:55] Comment=y"))
	require.Equal(t, []string{"x", "ann", "y"}, []string{nodes[0].Reason, nodes[0].ReasonBy, nodes[0].Comment})
}

// A5: the end of a reservation that begins in 9999.
func TestAReservationThatEndsAfterTheYear9999IsRead(t *testing.T) {
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
func TestARowThatCannotBeReadCostsThatReservationOrPartitionOnly(t *testing.T) {
	costsOnly(t, ParseReservations, reservationA, reservationC, map[string]UnreadRow{
		"ReservationName=b StartTime=soon EndTime=None Nodes=f0\n": {Kind: ReservationRow, Name: "b", Why: `StartTime: time "soon": not like 2006-01-02T15:04:05`},
		"ReservationName=b Nodes=f0\n":                             {Kind: ReservationRow, Name: "b", Why: "it has no StartTime="},
		"x\n":                                                      {Kind: ReservationRow, Why: `"x": not a reservation record`},
	})
	costsOnly(t, ParsePartitions, partitionA, partitionC, map[string]UnreadRow{
		"PartitionName=b Nodes=f[ State=UP\n": {Kind: PartitionRow, Name: "b", Why: `hostlist "f[": a number is missing at character 3`},
		"x\n":                                 {Kind: PartitionRow, Why: `"x": not a partition record`},
	})
}

// costsOnly checks that each row is unread and those around it are read.
func costsOnly[T any](t *testing.T, parse func([]byte) ([]T, error), before, after string, rows map[string]UnreadRow) {
	t.Helper()
	for row, want := range rows {
		read, err := parse([]byte(before + row + after))
		require.Equal(t, Unread{want}, err)
		require.Equal(t, parsed(t, parse, before+after), read)
	}
}

func TestAnUnreadRowIsNamedOnOneLine(t *testing.T) {
	require.Equal(t, `node "f\n0" cannot be read: why`, UnreadRow{Kind: NodeRow, Name: "f\n0", Why: "why"}.String())
	require.Equal(t, uint32(7), UnreadRow{Kind: JobRow, Name: "7"}.Job())
	require.Zero(t, UnreadRow{Kind: JobRow}.Job())
	require.Zero(t, UnreadRow{Kind: NodeRow, Name: "7"}.Job())
	require.EqualError(t, Unread{{Kind: JobRow, Why: "a"}, {Kind: JobRow, Why: "b"}, {Kind: JobRow, Why: "c"}}, "a job row cannot be read: a; and 2 more")
}
