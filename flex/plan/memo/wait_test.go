package memo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestJobCommentLimitsItsWait(t *testing.T) {
	type limit struct {
		wait time.Duration
		then string
	}
	for comment, want := range map[string]limit{
		"slurmflex:wait=90m":               {90 * time.Minute, ""},
		"run 3, slurmflex:wait=2h; thanks": {2 * time.Hour, ""},
		"slurmflex:wait=99999d":            {99999 * 24 * time.Hour, ""},
		"":                                 {0, ""},
		"slurmflex:wait=2":                 {0, ""},
		"slurmflex:wait=0h":                {0, ""},
		"slurmflex:wait=100000d":           {0, ""},
		"myslurmflex:wait=2h":              {0, ""},
		"slurmflex:wait=2h,cancel":         {2 * time.Hour, "cancel"},
		"x,slurmflex:wait=2h,hold,y":       {2 * time.Hour, "hold"},
		"slurmflex:wait=2h, cancel":        {2 * time.Hour, ""},
		"slurmflex:wait=2h,cancelled":      {2 * time.Hour, ""},
	} {
		wait, then := OwnersWait(comment)
		assert.Equal(t, want, limit{wait, then}, comment)
	}
}

func TestJobCommentRequestsASignal(t *testing.T) {
	for comment, asks := range map[string]bool{
		"slurmflex:signal":                     true,
		"run 3, slurmflex:signal; thanks":      true,
		"slurmflex:wait=2h,slurmflex:signal":   true,
		"":                                     false,
		"myslurmflex:signal":                   false,
		"slurmflex:signals":                    false,
		"slurmflex:signal=no":                  false,
		"see the docs on slurmflex:signal/why": false,
	} {
		assert.Equal(t, asks, AsksSignal(comment), comment)
	}
}

func TestWarningCountsForItsEndOnly(t *testing.T) {
	const one, two = OwnComment + End + "one", OwnComment + End + "two"
	warned := Sent(one+Waited+"3m for b", noon, "USR1")
	for text, was := range map[string]bool{
		one: true, one + Waited + "1m for a": true, one + Sends + "USR1": true, Sent(one, noon, ""): true,
		one + "s": false, two: false, Sent(two, noon, "USR1"): false, OwnComment + Waiting: false,
	} {
		assert.Equal(t, was, WasWarned(warned, text), text)
	}
	assert.False(t, WasWarned(one+Sends+"USR1", one+Sends+"USR1"))
	assert.False(t, WasWarned(Text(warned), one), "another author's")
}

func TestSentSignalIsParsedBack(t *testing.T) {
	at, signal, sent := WasSent(Sent(OwnComment+End+"soon", noon, "USR1"))
	assert.True(t, sent)
	assert.Equal(t, "USR1", signal)
	assert.Equal(t, noon, at)
	for _, comment := range []string{Sent(OwnComment+End, noon, ""), Sent(End, noon, "USR1"), OwnComment + End + "soon" + Sends + "USR1", ""} {
		_, _, sent := WasSent(comment)
		assert.False(t, sent, comment)
	}
}
