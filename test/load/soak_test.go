package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hour returns samples of an hour without growth: days that differ slightly.
func hour() []sample {
	var samples []sample
	for i := range 60 {
		samples = append(samples, sample{
			heap: float64(12*mebibyte + i%7<<13), memory: float64((50 + i%5) * mebibyte),
			goroutines: float64(20 + i%3), files: float64(14 + i%2), passes: float64(300 * (i + 1)),
		})
	}
	samples[0] = sample{heap: 9 * mebibyte, memory: 40 * mebibyte, goroutines: 12, files: 9, passes: 300}
	return samples
}

func judged(t *testing.T, samples []sample, want error) string {
	t.Helper()
	var out bytes.Buffer
	require.ErrorIs(t, judge(samples, time.Hour, &out), want)
	return out.String()
}

func TestOnlyAGrowingValueIsNamed(t *testing.T) {
	grow := map[string]func(s *sample, day int){
		"heap":       func(s *sample, day int) { s.heap += float64(day << 15) }, // 270 bytes per job
		"goroutines": func(s *sample, day int) { s.goroutines += float64(day / 6) },
		"files":      func(s *sample, day int) { s.files += float64(day / 6) },
		"children":   func(s *sample, day int) { s.children += float64(day / 20) },
		"memory":     func(s *sample, day int) { s.memory += float64(day * mebibyte) },
	}
	assert.Contains(t, judged(t, hour(), nil), "files 14→15, children 0→0, memory 52.00→52.00 MiB, flat\n")
	require.Len(t, holdings(), len(grow))
	for _, h := range holdings() {
		samples := hour()
		for day := range samples {
			grow[h.name](&samples[day], day)
		}
		assert.Contains(t, judged(t, samples, errGrows), ", not flat: "+h.name+"\n")
	}
}
