package memo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	boots, ok := ParseBoots(Boots{2, noon}.String())
	assert.True(t, ok)
	assert.Equal(t, Boots{2, noon}, boots)

	wait, ok := ParseWait(Wait{"alpha-a3-job-7/a1", noon, noon.Add(time.Hour)}.String())
	assert.True(t, ok)
	assert.Equal(t, Wait{"alpha-a3-job-7/a1", noon, noon.Add(time.Hour)}, wait)

	at, warned := WarnedAt(Warning(noon, "all is lost"))
	assert.True(t, warned)
	assert.Equal(t, noon, at)

	assert.Equal(t, 3, ParseFailed(OwnComment+Failed(3, "(capacity)")))
	assert.Zero(t, ParseFailed(Failed(3, "(capacity)")), "somebody else's")

	end, ours := ParseReservation("alpha", Reservation("alpha", noon))
	assert.True(t, ours)
	assert.Equal(t, noon, end)
	_, ours = ParseReservation("alpha", Reservation("alpha-a3", noon))
	assert.False(t, ours, "another cluster's")

	set, ours := ParseRest("alpha", RestReservation("alpha", "a3"))
	assert.True(t, ours)
	assert.Equal(t, "a3", set)
	assert.True(t, IsReservation("alpha", RestReservation("alpha", "a3")))
	_, ours = ParseReservation("alpha", RestReservation("alpha", "17"))
	assert.False(t, ours, "the end of no lease")
	for _, other := range []string{RestReservation("beta", "a3"), "slurmflex-alpha.rest-", MoveReservation("alpha", 8)} {
		_, ours = ParseRest("alpha", other)
		assert.False(t, ours, other)
	}

	group := JobGroup("alpha", "a3", 7, 1)
	assert.Equal(t, group, Replaced(Replacement(group, 2)))
	assert.Equal(t, group, Replaced(group))
	assert.Equal(t, "a3", NextAttempt([]string{"a1", "a2", "by-hand"}))
}

// Others may write where we read: what we take for ours is what we would have written.
func FuzzParse(f *testing.F) {
	f.Add(Boots{2, noon}.String())
	f.Add(Wait{"alpha-a3-job-7/a1", noon, noon}.String())
	f.Add(Warning(noon, "all is lost"))
	f.Add(Reservation("alpha", noon))
	f.Add(OwnComment + Failed(3, "(capacity)"))
	f.Add(OwnComment + "[partitions a,b; moved to b after 2h in a at 2026-11-21T12:00:00Z]")
	f.Fuzz(func(t *testing.T, text string) {
		if boots, ok := ParseBoots(text); ok {
			assert.Positive(t, boots.Failed)
		}
		if wait, ok := ParseWait(text); ok {
			assert.Equal(t, text, wait.String())
		}
		if end, ok := ParseReservation("alpha", text); ok {
			assert.Equal(t, text, Reservation("alpha", end))
		}
		if at, ok := WarnedAt(text); ok {
			assert.False(t, at.IsZero() && text == "")
		}
		if rest, chain := SplitChain(text); len(chain.List) > 0 {
			_, again := SplitChain(WithChain(rest, chain))
			assert.Equal(t, chain, again)
		}
		_, _ = ParseFailed(text), IsOfNodes(text)
		assert.NotPanics(t, func() { Replaced(text) })
	})
}

func TestTheNamesOfReservationsForJobsAreReadBackAndNotForOneAnother(t *testing.T) {
	for name, codec := range map[string]struct {
		write func(string, uint32) string
		read  func(string, string) (uint32, bool)
	}{
		"move":    {MoveReservation, ParseMove},
		"salvage": {SalvageReservation, ParseSalvage},
	} {
		t.Run(name, func(t *testing.T) {
			job, ours := codec.read("alpha", codec.write("alpha", 8))
			assert.True(t, ours)
			assert.Equal(t, uint32(8), job)
			assert.False(t, IsReservation("alpha", codec.write("alpha", 8)))
			for _, other := range []string{codec.write("beta", 8), codec.write("alpha", 8) + "x", codec.write("alpha", 0), "slurmflex-alpha-8"} {
				_, ours := codec.read("alpha", other)
				assert.False(t, ours, other)
			}
		})
	}
	_, ours := ParseMove("alpha", SalvageReservation("alpha", 8))
	assert.False(t, ours)
}
