//go:build web

// Package web tests the daemon's page in a headless Chromium, on a cluster with a real Slurm and
// the fake Compute API. Run it with `make web-test`.
package web

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func cluster(t *testing.T, sets ...lab.NodeSet) *lab.Lab {
	t.Helper()
	stage := os.Getenv("WEB_STAGE")
	require.NotEmpty(t, stage, "run scripts/web-test, which builds what the test needs")
	l, err := lab.Start(context.Background(), lab.Options{
		Build: stage, Scripts: filepath.Join(stage, "scripts"), Name: "web", Daemon: true, Static: 1, NodeSets: sets, Keys: "limits: {all: {gpu_hours: 1000000}}",
	})
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(l.Log("daemon.log"))
			t.Logf("--- daemon.log\n%s", text)
		}
		l.Remove()
	})
	require.NoError(t, err)
	return l
}

func capacity(t *testing.T, l *lab.Lab, machines int) {
	t.Helper()
	require.NoError(t, l.Tell(context.Background(), "capacity", map[string]any{"zone": "", "machineType": "", "count": machines}))
}

func submit(t *testing.T, l *lab.Lab, args ...string) string {
	t.Helper()
	out, err := l.Slurm(context.Background(), "sbatch", append([]string{"--parsable", "-o", "/dev/null"}, args...)...)
	require.NoError(t, err)
	return strings.TrimSpace(out)
}

// awaitOnPage waits until the page shows the expected state without a reload.
func awaitOnPage(t *testing.T, b *browser, expression, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return b.eval(expression) == "true" }, 90*time.Second, 200*time.Millisecond,
		"%s; the page shows:\n%s", what, b.eval("document.body.innerText"))
}

// waiting is the number of waiting jobs on the phone.
const waiting = 10

func TestPageShowsAJobQueuedAndThenRunning(t *testing.T) {
	l := cluster(t, lab.NodeSet{Name: "a2", Machine: "a2-highgpu-1g", Size: 8})
	b := openBrowser(t)
	page := "http://" + l.HTTPAddress() + "/"
	capacity(t, l, 3)
	first := submit(t, l, "-p", "fixed", "-N2", "--time=30", "--wrap", "sleep 300")
	shown := func(state, job string) string {
		return `[...document.querySelectorAll("tr.` + state + `")].some(r => r.cells[0].innerText.trim() == "` + job + `")`
	}
	require.Eventually(t, func() bool {
		out, err := l.Flex(t.Context(), "status")
		return err == nil && strings.Contains(out, "running")
	},
		90*time.Second, time.Second)
	second := submit(t, l, "-p", "train", "-N4", "--time=2:00:00", "--wrap", "sleep 300")

	b.screen(1100, 900, "light")
	b.visit(page)
	awaitOnPage(t, b, shown("running", first), "job "+first+" to run")
	awaitOnPage(t, b, shown("queued", second), "job "+second+" to be queued")
	awaitOnPage(t, b, drawn("timeline", "booting")+"&&"+drawn("timeline", "running")+"&&"+drawn("chart:not(.timeline)", "waiting"),
		"the timeline and the history to be drawn")
	assert.Equal(t, "true", b.eval(`/^now, \d\d:\d\d$/.test(document.querySelector(".timeline .tick.now").textContent)`), "the now-line has a label")
	accessible(t, b, 1100)
	b.eval(`document.getElementById("q").value = "` + second + `"`)

	capacity(t, l, 0)
	for range waiting - 1 - 1 {
		submit(t, l, "-p", "a2", "--time=10:00", "--wrap", "sleep 300")
	}
	submit(t, l, "-p", "train", "--wrap", "sleep 300")
	b.screen(390, 1300, "dark")
	awaitOnPage(t, b, fmt.Sprintf(`document.querySelectorAll("main section:first-of-type tr.queued").length == %d`, waiting), "ten jobs to wait")
	awaitOnPage(t, b, `document.getElementById("waiting").parentElement.innerText.split("no capacity").length == 2`, "an error of all to show once")
	accessible(t, b, 390)
	for name, width := range map[string]int{"a phone": 390, "a desk": 1100} {
		b.screen(width, 900, "dark")
		assert.Equal(t, "true", b.eval("document.documentElement.scrollWidth <= innerWidth"), "fits "+name)
	}
	b.screen(390, 900, "light")
	assert.Equal(t, "true", b.eval("document.documentElement.scrollHeight < 2600"), "%s px high", b.eval("document.documentElement.scrollHeight"))

	require.NoError(t, l.Tell(t.Context(), "capacity", map[string]any{"zone": "", "machineType": "a3-megagpu-8g", "count": 5}))
	awaitOnPage(t, b, shown("running", second), "job "+second+" to run, without loading the page again")
	assert.Equal(t, second, b.eval(`document.getElementById("q").value`), "the typed text is kept")

	t.Run("without scripts", func(t *testing.T) {
		b.scripts(false)
		defer b.scripts(true)
		b.visit(page)
		assert.Equal(t, "true", b.eval(shown("running", second)))
		assert.Equal(t, "true", b.eval(`document.querySelector("noscript").innerHTML.includes("refresh")`))
	})
	t.Run("the reader's zone", func(t *testing.T) {
		b.zone("Asia/Tokyo")
		defer b.zone("")
		for _, target := range []string{"", "why?q=" + second} {
			b.visit(page + target)
			awaitOnPage(t, b, `document.querySelector("main").innerText.includes("JST")`, "times to be those of Tokyo")
		}
	})
	t.Run("a job's story", func(t *testing.T) {
		b.screen(1100, 1000, "light")
		b.visit(page + "why?q=" + second)
		assert.Contains(t, b.eval("document.body.innerText"), "job "+second+" (root)\n")
		awaitOnPage(t, b, happened("running"), "its start to show")
		accessible(t, b, 1100)
		accessible(t, b, 390)
		_, err := l.Slurm(t.Context(), "scancel", second)
		require.NoError(t, err)
		awaitOnPage(t, b, happened("ended"), "the job to end, without loading the page again")
	})
	assert.Empty(t, b.errors(), "on the console")

	b.visit(page + "why?q=nothing")
	accessible(t, b, 390)
	b.visit(page)
	require.NoError(t, l.StopDaemon())
	awaitOnPage(t, b, `document.body.innerText.includes("the daemon does not answer")`, "the page to report that the daemon does not answer")
}

// drawn returns an expression for whether a chart of a class has a piece with the pattern of a
// kind.
func drawn(class, kind string) string {
	return `document.querySelector("svg.` + class + ` rect[fill='url(#p-` + kind + `)']") !== null`
}

// happened returns an expression for whether a job's story has an event.
func happened(kind string) string {
	return `[...document.querySelectorAll(".events b")].some(e => e.innerText == "` + kind + `")`
}

// shoot saves a screenshot of the page for the documentation.
func shoot(t *testing.T, b *browser, name string) {
	t.Helper()
	if dir := os.Getenv("WEB_SHOTS"); dir != "" {
		b.shoot(filepath.Join(dir, name))
	}
}
