package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// inChunks reads a text with workers.
func inChunks(from io.Reader, size int, kind Kind) (entries []Entry, bad int, err error) {
	err = readChunks(from, size, chunkDecoder{kind: kind, seed: maphash.MakeSeed()}, func(c *chunk) {
		bad += c.bad
		for i := range c.entries {
			e := c.entries[i].Entry
			e.Uses = append([]Use(nil), e.Uses...)
			entries = append(entries, e)
		}
	})
	return entries, bad, err
}

// lineByLine reads a text as encoding/json does.
func lineByLine(text string, kind Kind) (entries []Entry, bad int) {
	lines := strings.Split(text, "\n")
	last := lines[len(lines)-1]
	if len(last) >= maxLine {
		bad++
	}
	for _, line := range lines[:len(lines)-1] {
		var e Entry
		switch {
		case line == "", strings.HasPrefix(line, string(otherKind[kind])):
		case len(line) >= maxLine || json.Unmarshal([]byte(line), &e) != nil || e.check() != nil:
			bad++
		case e.Kind == kind:
			entries = append(entries, e)
		}
	}
	return entries, bad
}

func TestWorkersReadWhatIsReadLineByLineHoweverTheTextIsCut(t *testing.T) {
	tooLong := strings.Repeat("x", maxLine)
	rapid.Check(t, func(r *rapid.T) {
		var text strings.Builder
		for i := range rapid.IntRange(0, 60).Draw(r, "lines") {
			wait, lease := granted(fmt.Sprint("w", i)), used(fmt.Sprint("l", i))
			lease.Uses = lease.Uses[:rapid.IntRange(0, 2).Draw(r, "jobs")]
			text.WriteString(rapid.SampledFrom([]string{
				line(t, wait), line(t, wait), line(t, lease), line(t, lease), "\n", "rubbish\n", line(t, wait)[:50] + "\n",
				strings.Replace(line(t, wait), `"ada"`, `"a\"da"`, 1),
			}).Draw(r, "line"))
		}
		if rapid.IntRange(0, 9).Draw(r, "a long line") == 0 {
			text.WriteString(tooLong[:len(tooLong)-rapid.IntRange(0, 1).Draw(r, "less")])
			text.WriteString(rapid.SampledFrom([]string{"", "xyz", "\n", "\n" + line(t, granted("a")) + line(t, used("b"))}).Draw(r, "its end"))
		}
		text.WriteString(line(t, granted("torn"))[:rapid.IntRange(0, 100).Draw(r, "torn")])
		size := rapid.OneOf(rapid.IntRange(300, 2000), rapid.Just(chunkSize)).Draw(r, "size")
		if text.Len() < maxLine {
			size = rapid.IntRange(1, text.Len()+2).Draw(r, "any size")
		}
		kind := rapid.SampledFrom([]Kind{Wait, Lease}).Draw(r, "kind")
		want, wantBad := lineByLine(text.String(), kind)
		got, bad, err := inChunks(strings.NewReader(text.String()), size, kind)
		require.NoError(r, err)
		require.Equal(r, want, got)
		require.Equal(r, wantBad, bad)
	})
}

func TestWhatPrecedesAReadErrorIsTaken(t *testing.T) {
	broken := errors.New("input/output error")
	text := io.MultiReader(strings.NewReader(line(t, granted("a"))+line(t, granted("b"))+"{"), iotest.ErrReader(broken))
	got, bad, err := inChunks(text, 100, Wait)
	require.ErrorIs(t, err, broken)
	assert.Equal(t, []Entry{granted("a"), granted("b")}, got)
	assert.Zero(t, bad)
}
