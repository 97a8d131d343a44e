//go:build web

// Package web looks at the daemon's page in a headless Chromium, on a cluster
// with a real Slurm and the fake Compute API. Run it with `make web-test`.
package web

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func cluster(t *testing.T) *lab.Lab {
	t.Helper()
	stage := os.Getenv("WEB_STAGE")
	require.NotEmpty(t, stage, "run scripts/web-test, which builds what the test needs")
	l, err := lab.Start(context.Background(), lab.Options{
		Build: stage, Scripts: filepath.Join(stage, "scripts"), Name: "web", Daemon: true, Static: 1,
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

// awaitOnPage waits until the page says something, without loading it again.
func awaitOnPage(t *testing.T, b *browser, expression, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return b.eval(expression) == "true" }, 90*time.Second, 200*time.Millisecond,
		"%s; the page says:\n%s", what, b.eval("document.body.innerText"))
}

func TestThePageShowsAJobQueuedAndThenRunning(t *testing.T) {
	l := cluster(t)
	b := openBrowser(t)
	capacity(t, l, 3)
	running := submit(t, l, "-p", "fixed", "-N2", "--wrap", "sleep 300")
	shown := func(state, job string) string {
		return `[...document.querySelectorAll("tr.` + state + `")].some(r => r.innerText.includes("` + job + `"))`
	}
	require.Eventually(t, func() bool {
		out, err := l.Flex(t.Context(), "status")
		return err == nil && strings.Contains(out, "running")
	},
		90*time.Second, time.Second)
	waiting := submit(t, l, "-p", "train", "-N4", "--time=2:00:00", "--wrap", "sleep 300")

	b.screen(1100, 1150, "light")
	b.visit("http://" + l.HTTPAddress() + "/")
	assert.Equal(t, "alpha · slurmflex", b.eval("document.title"))
	awaitOnPage(t, b, shown("running", running), "job "+running+" to run")
	awaitOnPage(t, b, shown("queued", waiting), "job "+waiting+" to be queued")
	awaitOnPage(t, b, `document.body.innerText.includes("last error: capacity")`, "the cause of the last error to show")
	assert.Equal(t, "true", b.eval(`document.querySelectorAll("svg.timeline rect.bar").length > 0`))
	assert.Equal(t, "true", b.eval(`document.body.innerText.includes("alpha-st-0")`), "the static node")
	b.eval(`document.getElementById("q").value = "` + waiting + `"`)
	shoot(t, b, "page.png")

	for name, width := range map[string]int{"a phone": 390, "a desk": 1100} {
		b.screen(width, 900, "dark")
		assert.Equal(t, "true", b.eval("document.documentElement.scrollWidth <= innerWidth"), "fits "+name)
	}
	b.screen(390, 1300, "dark")
	shoot(t, b, "phone.png")

	capacity(t, l, 20)
	awaitOnPage(t, b, shown("running", waiting), "job "+waiting+" to run, without loading the page again")
	assert.Equal(t, waiting, b.eval(`document.getElementById("q").value`), "what is being typed stays")
	assert.Empty(t, b.errors(), "on the console")

	b.visit("http://" + l.HTTPAddress() + "/why?q=" + waiting)
	assert.Contains(t, b.eval("document.body.innerText"), "job "+waiting+" (root), as of ")
	assert.Empty(t, b.errors(), "on the console")

	b.visit("http://" + l.HTTPAddress() + "/")
	require.NoError(t, l.StopDaemon())
	awaitOnPage(t, b, `document.body.innerText.includes("the daemon does not answer")`, "the page to say that nobody answers")
}

// shoot keeps what the page looks like, for the documentation.
func shoot(t *testing.T, b *browser, name string) {
	t.Helper()
	if dir := os.Getenv("WEB_SHOTS"); dir != "" {
		b.shoot(filepath.Join(dir, name))
	}
}
