package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestShellCompletesTheDaemonsNames(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting()
	w.runs("sync")
	d := w.served()
	completed := func(line string) string {
		t.Helper()
		r := w.runs(append([]string{"__completeNoDesc"}, strings.Split(line, " ")...)...)
		words, found := strings.CutSuffix(r.stdout.String(), ":4\n") // 4: no file names
		assert.True(t, found, "%s: %s", line, r.stdout.String())
		return strings.Join(strings.Fields(words), " ")
	}
	for line, want := range map[string]string{
		"block ":              "a3",
		"status --partition ": "train",
		"status -o ":          "wide",
		"sync ":               "",
	} {
		got := completed(line)
		for begun := time.Now(); got != want && time.Since(begun) < slack; got = completed(line) {
			t.Log("a busy machine may take longer than a shell waits:", line)
		}
		assert.Equal(t, want, got, line)
	}
	d.stops()
	assert.Empty(t, completed("block "), "without a daemon")
	w.configure("project: demo", "project: [")
	assert.Empty(t, completed("block "), "without a configuration that can be read")
}
