package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hour is what a flat hour looks like: days that differ by a little.
func hour() []sample {
	var samples []sample
	for i := range 60 {
		samples = append(samples, sample{
			Heap: 12*mebibyte + uint64(i%7)<<13, Memory: uint64(50+i%5) * mebibyte,
			Goroutines: 20 + i%3, Files: 14 + i%2, Rounds: 300 * (i + 1),
		})
	}
	samples[0] = sample{Heap: 9 * mebibyte, Memory: 40 * mebibyte, Goroutines: 12, Files: 9, Rounds: 300}
	return samples
}

func judged(samples []sample) (string, error) {
	var out bytes.Buffer
	err := judge(samples, time.Hour, &out)
	return out.String(), err
}

func TestAnHourInWhichNothingGrowsIsFlat(t *testing.T) {
	text, err := judged(hour())
	require.NoError(t, err)
	assert.Equal(t, "soak: 1h0m0s, 60 days, 18000 rounds, heap 12.02→12.02 MiB, goroutines 21→21, files 14→15, children 0→0, "+
		"memory 52.00→52.00 MiB, flat\n", text)
}

func TestWhatGrowsIsNamed(t *testing.T) {
	grow := map[string]func(s *sample, day int){
		"heap":       func(s *sample, day int) { s.Heap += uint64(day) << 14 }, // 100 bytes a job
		"goroutines": func(s *sample, day int) { s.Goroutines += day / 6 },
		"files":      func(s *sample, day int) { s.Files += day / 6 },
		"children":   func(s *sample, day int) { s.Children += day / 20 },
		"memory":     func(s *sample, day int) { s.Memory += uint64(day) * mebibyte },
	}
	require.Len(t, holdings(), len(grow))
	for _, h := range holdings() {
		samples := hour()
		for day := range samples {
			grow[h.name](&samples[day], day)
		}
		text, err := judged(samples)
		require.ErrorIs(t, err, errGrows, h.name)
		assert.Contains(t, text, ", not flat: "+h.name+"\n")
	}
}

func TestWhatFillsUpInTheFirstDaysDoesNotCountAsGrowth(t *testing.T) {
	samples := hour()
	for day := range 6 {
		samples[day].Goroutines, samples[day].Heap = 1, mebibyte
	}
	_, err := judged(samples)
	assert.NoError(t, err)
}

func TestTheFewestSamplesCanBeJudged(t *testing.T) {
	_, err := judged(hour()[:fewest])
	require.NoError(t, err)
	err = run(t.Context(), []string{"--for", "2m"}, new(bytes.Buffer))
	assert.EqualError(t, err, "2m0s is too short to tell what grows; give 4m0s or more")
	err = run(t.Context(), []string{"1h"}, new(bytes.Buffer))
	assert.EqualError(t, err, `"1h" is not a flag; soak --help lists them`)
}

func TestASampleCountsFilesAndChildren(t *testing.T) {
	before, err := takeSample()
	require.NoError(t, err)
	assert.Positive(t, before.Heap)
	assert.Greater(t, before.Memory, before.Heap/2)
	assert.Positive(t, before.Goroutines)

	file, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer file.Close()
	child := exec.Command("/bin/sleep", "60")
	require.NoError(t, child.Start())
	defer func() {
		require.NoError(t, child.Process.Kill())
		_ = child.Wait() // killed
	}()
	after, err := takeSample()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, after.Files, before.Files+1)
	assert.Equal(t, before.Children+1, after.Children)
}
