package chaos

import (
	"fmt"
	"hash/fnv"
	"time"
)

// dice draws everything that a day leaves to chance. A draw depends on the
// day's seed and on what the draw is about, never on the draws before it: the
// goroutines of a bubble run in no fixed order, and an event taken out of a
// script must not change what becomes of the others.
type dice uint64

// roll is a number that seed and subject decide.
func (d dice) roll(about ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, uint64(d))
	for _, a := range about {
		fmt.Fprintf(h, "|%v", a)
	}
	return mixed(h.Sum64())
}

// mixed spreads a hash over all its bits. Source: the finalizer of splitmix64.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below is a number from 0 to n-1.
func (d dice) below(n int, about ...any) int {
	return int(d.roll(about...) % uint64(n))
}

// number is one from least to most.
func (d dice) number(least, most int, about ...any) int {
	return least + d.below(most-least+1, about...)
}

// oneIn is true once in n.
func (d dice) oneIn(n int, about ...any) bool { return d.below(n, about...) == 0 }

// span is a duration from least up to, but without, most, to the nanosecond, so
// that two things hardly ever happen at the same instant.
func (d dice) span(least, most time.Duration, about ...any) time.Duration {
	return least + time.Duration(d.roll(about...)%uint64(most-least))
}

// minutes is a whole number of minutes from least to most.
func (d dice) minutes(least, most int, about ...any) time.Duration {
	return time.Duration(d.number(least, most, about...)) * time.Minute
}

// pick is one of the choices.
func pick[T any](d dice, choices []T, about ...any) T {
	return choices[d.below(len(choices), about...)]
}
