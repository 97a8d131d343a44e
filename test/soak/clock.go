package main

import "time"

// speed is how much faster than real time the model's time passes: a day takes
// a minute. Rounds take a tenth of a second and more, so they are some minutes
// of the model apart, as seldom as a site might have them.
const speed = 1440

// day is a day of the model's time.
const day = 24 * time.Hour

// clock shows the model's time, in every process the same.
type clock struct {
	begun time.Time // when it was the real time
}

func (c clock) now() time.Time { return c.begun.Add(speed * time.Since(c.begun)) }
