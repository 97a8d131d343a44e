package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUseSumsUpWaitsAndRuns(t *testing.T) {
	submitted := Event{At: at(-60), Kind: EventSubmitted}
	run := func(minutes int, machines ...Machines) Event {
		return Event{At: at(minutes), Kind: EventRunning, Machines: machines}
	}
	for want, p := range map[string]*Past{
		"waited 1h00m, no run recorded": {Events: []Event{submitted}},
		"waited 10m, no run recorded":   {Events: []Event{submitted}, EndedAt: at(-50)},
		"waited 30m, ran 30m on 2 × g2-standard-48 + 1 × a3-highgpu-8g, 8.0 GPU hours": {Events: []Event{submitted, run(-30, Machines{"g2-standard-48", 2}, Machines{"a3-highgpu-8g", 1})}},
		"ran 30m on 1 × n2-standard-4, 0.5 machine hours":                              {Events: []Event{run(-30, Machines{"n2-standard-4", 1})}},
		"ran 30m on 1 node + 1 × a3-highgpu-8g, 1.0 machine hours":                     {Events: []Event{run(-30, Machines{"", 1}, Machines{"a3-highgpu-8g", 1})}},
		"ran 30m": {Events: []Event{run(-30)}},
		"waited 5m, ran 40m on 1 × a3-highgpu-8g, 5.3 GPU hours": {Events: []Event{
			run(-50, Machines{"a3-highgpu-8g", 1}), {At: at(-45), Kind: EventRequeued}, run(-40, Machines{"a3-highgpu-8g", 1}), {At: at(-5), Kind: EventEnded},
		}, EndedAt: at(-5)},
	} {
		assert.Equal(t, want, p.use(noon).String())
	}
}

func TestStoryTextIsPrintable(t *testing.T) {
	p := past()
	p.Events[1].Text = "\x1b[2J" + strings.Repeat("x", 1000)
	p.Events[0].Machines = []Machines{{"\x1b]0;", 1}}
	text := p.text(noon)
	assert.NotContains(t, text, "\x1b")
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len([]rune(line)), eventWidth+30)
	}
}
