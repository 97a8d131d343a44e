package memo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestWrittenTextsAreParsedBack(t *testing.T) {
	boots, ok := ParseBoots(Boots{2, noon}.String())
	assert.True(t, ok)
	assert.Equal(t, Boots{2, noon}, boots)

	wait, ok := ParseWait(Wait{"alpha-a3-job-7/a1", noon, noon.Add(time.Hour)}.String())
	assert.True(t, ok)
	assert.Equal(t, Wait{"alpha-a3-job-7/a1", noon, noon.Add(time.Hour)}, wait)

	for _, done := range []Done{{Requeued, noon, "no machines"}, {Loss, time.Time{}, "it is gone: deleted"}, {JobHeld, noon, "at last"}} {
		again, ok := DoneOf(OwnComment + done.String())
		assert.True(t, ok)
		assert.Equal(t, done, again)
	}
	for _, comment := range []string{Done{Requeued, noon, "x"}.String(), OwnComment + "told 2026: x", OwnComment + "held for it after a loss: a", OwnComment + "held at noon: x", ""} {
		_, ok := DoneOf(comment)
		assert.False(t, ok, comment)
	}

	assert.Equal(t, 3, ParseFailed(OwnComment+Failed(3, "(capacity)")))
	assert.Zero(t, ParseFailed(Failed(3, "(capacity)")), "another author's")

	group := JobGroup("alpha", "a3", 7, 1)
	assert.Equal(t, group, Replaced(Replacement(group, 2)))
	assert.Equal(t, group, Replaced(group))
	assert.Equal(t, "a3", NextAttempt([]string{"a1", "a2", "by-hand"}))
}

// Other programs may write the fields that we parse. A text counts as ours only if we would have
// written exactly the same text.
func FuzzParse(f *testing.F) {
	f.Add(Boots{2, noon}.String())
	f.Add(Wait{"alpha-a3-job-7/a1", noon, noon}.String())
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
		if h := ParseHold("alpha", text); h.Kind != NoHold && h.Kind != FormerHold {
			assert.Equal(t, Reservation("alpha", h.At), text)
		}
		_, _ = ParseFailed(text), IsOfNodes(text)
		assert.NotPanics(t, func() { Replaced(text) })
	})
}

func TestBlockIsReadAsWritten(t *testing.T) {
	for _, b := range []Block{
		{At: noon},
		{At: noon, Until: noon.Add(time.Hour), Cancels: true, Why: "driver update: see ticket 7"},
		{At: noon, Why: "until unblock, requests stay: why?"},
	} {
		read, ok := ParseBlock(b.String())
		assert.True(t, ok)
		assert.Equal(t, b, read)
	}
	for _, text := range []string{"", "rack 7", "slurmflex: blocked at noon until unblock, requests stay", Block{At: noon}.String() + ":", "x" + Block{At: noon}.String()} {
		_, ok := ParseBlock(text)
		assert.False(t, ok, text)
	}
}

func TestParseHoldReadsOnlyTheClustersReservations(t *testing.T) {
	for name, hold := range map[string]Hold{
		DoorFor(DoorReservation("alpha", "7+1", noon), "00ff1234"):                {Kind: DoorHold, At: noon, Address: "7+1", Digest: "00ff1234"},
		FurtherDoor(DoorFor(DoorReservation("alpha", "7", noon), "12345678"), 99): {Kind: DoorHold, At: noon, Address: "7", Digest: "12345678"},
		DoorReservation("alpha", "7_0", noon):                                     {Kind: DoorHold, At: noon, Address: "7_0"},
		FurtherDoor(DoorReservation("alpha", "7", noon), 1):                       {Kind: DoorHold, At: noon, Address: "7"},
		DoorFor(DoorReservation("alpha", "7", noon), "00FF1234"):                  {},
		DoorFor(DoorReservation("alpha", "7", noon), "123"):                       {},
		Reservation("alpha", noon):                                                {Kind: LeaseHold, At: noon},
		CoverReservation("alpha", WarmCover, noon):                                {Kind: CoverHold, At: noon, Over: WarmCover},
		"slurmflex-alpha.cover-0":                                                 {Kind: CoverHold, At: time.Unix(0, 0).UTC(), Over: ColdCover},
		"slurmflex-alpha.cover-cool-0":                                            {},
		"slurmflex-alpha.cover-007":                                               {},
		"slurmflex-alpha.cold-8_1-0":                                              {Kind: FormerHold, Job: 8},
		"slurmflex-alpha.cold-8":                                                  {},
		"slurmflex-alpha.job-8":                                                   {Kind: FormerHold, Job: 8},
		"slurmflex-alpha.salvage-8":                                               {Kind: FormerHold, Job: 8},
		"slurmflex-alpha.rest-a3":                                                 {Kind: FormerHold},
		Reservation("alpha-a3", noon):                                             {},
		"slurmflex-beta.rest-a3":                                                  {},
		"slurmflex-alpha.rest-":                                                   {},
		"slurmflex-beta.job-8":                                                    {},
		"slurmflex-alpha.job-8x":                                                  {},
		"slurmflex-alpha.salvage-0":                                               {},
		"maintenance":                                                             {},
	} {
		assert.Equal(t, hold, ParseHold("alpha", name), name)
	}
}

func TestOnlySlurmflexsOwnHoldIsExplained(t *testing.T) {
	for told, want := range map[string]bool{
		Done{Deed: JobHeld, At: noon, Reason: "no right"}.String():     true,
		Done{Deed: JobHeld, Reason: "no right"}.String():               true,
		"403 forbidden: no right":                                      true, // v0.1.0
		Done{Deed: Requeued, At: noon, Reason: "no capacity"}.String(): false,
		Done{Deed: Loss, Reason: "the machine is gone"}.String():       false,
		Unplaced:                         false,
		TakenDown + "; it waits pending": false,
		Waiting + "since 2026-11-21":     false,
		There + "2026-11-21T12:00:00Z":   false,
		NoEnd:                            false,
		Failed(2, "no capacity"):         false,
	} {
		assert.Equal(t, want, ExplainsHold(OwnComment+told), told)
		assert.False(t, ExplainsHold(told), "not ours: %s", told)
	}
}
