package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The targets below put hostile bytes in the place of one field of one row, and
// make sure that all other rows come out as before.

// spoil gives the lines with one field of one of them replaced; fields end at sep.
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

// fuzzOneField puts hostile text in the place of one field of one of three lines,
// and makes sure that the other rows are read as before. One whose name the hostile
// text has may be unread, because there may be two of it.
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

// forged are texts that end a row and begin another.
var forged = []string{
	"", "|", "\n", "x\ny", "11609-05-28T03:06:55", "9", "\n9|9|N/A|15:00|RUNNING|f0|None|1|flex|ann|None", "\nNodeName=f2 RealMemory=1 State=DOWN BootTime=None",
	"\nReservationName=c StartTime=None Nodes=f0", "\nPartitionName=c Nodes=f0", "\x00\xff", " RealMemory=1 State=IDLE", "f[0-99999999]",
}

// A1
func FuzzOneHostileFieldOfSqueue(f *testing.F) {
	fuzzOneField(f, []string{
		"7|5_[3-9%2]|3-9%2|1-00:00:00|PENDING||N/A|42|flex,all|ann|BeginTime",
		"8|8|N/A|15:00|RUNNING|f[0-1]|2026-11-21T03:00:00|42|flex|ann|None",
		"9|8+1|N/A|UNLIMITED|COMPLETING|f2|2026-11-21T03:00:00|42|flex|bob|None",
	}, "|", ParseSqueue, func(j Job) string { return string(rune('0' + j.ID)) })
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

// A1
func FuzzOneHostileFieldOfAReservation(f *testing.F) {
	lines := strings.Split(strings.TrimSuffix(reservationA+strings.ReplaceAll(reservationA, "=a ", "=b ")+reservationC, "\n"), "\n")
	fuzzOneField(f, lines, " ", ParseReservations, func(r Reservation) string { return r.Name })
}

// A1
func FuzzOneHostileFieldOfAPartition(f *testing.F) {
	lines := strings.Split(strings.TrimSuffix(partitionA+strings.ReplaceAll(partitionA, "=a ", "=b ")+partitionC, "\n"), "\n")
	fuzzOneField(f, lines, " ", ParsePartitions, func(p Partition) string { return p.Name })
}

// A1
func FuzzOneHostileFieldOfAJobsAddress(f *testing.F) {
	lines := []string{"34|34_[2,7%2]", "35|34_1", "36|34_0"}
	f.Add(uint8(0), uint8(0), "\n35|35")
	f.Add(uint8(2), uint8(1), "\x00")
	f.Fuzz(func(t *testing.T, row, field uint8, hostile string) {
		row %= 3
		address, err := ParseJobAddress(35, []byte(spoil(lines, "|", row, field, hostile)))
		if row != 1 && !strings.Contains(hostile, "35") {
			require.NoError(t, err)
			require.Equal(t, JobAddress{Own: "34_1", Whole: "34_1"}, address)
		}
	})
}
