package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWatchdogSparesAHealthyDaemon(t *testing.T) {
	const usec = 1_000_000
	for given, want := range map[string]time.Duration{
		"":                              0,
		"soon":                          0,
		fmt.Sprint(60 * usec):           25 * time.Minute,
		fmt.Sprint(25 * 60 * usec):      0,
		fmt.Sprint(24 * 60 * 60 * usec): 0,
	} {
		assert.Equal(t, want, watchdogFor(given, 30*time.Second), given)
	}
	assert.Equal(t, 30*time.Minute, watchdogFor(fmt.Sprint(25*60*usec), 10*time.Minute))
}
