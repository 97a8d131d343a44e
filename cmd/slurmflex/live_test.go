package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckDoesNotWaitLongForASilentCompute(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, _, err := w.inside(t, silentCompute, "config", "check", "--live")
		require.ErrorContains(t, err, "project: not checked: list groups of us-central1: ")
		require.ErrorContains(t, err, "check that this host can reach Compute")
		assert.LessOrEqual(t, time.Since(begun), 2*time.Minute)
	})
}
