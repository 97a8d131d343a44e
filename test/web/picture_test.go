//go:build web

package web

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/web"
)

// TestPicturesOfABusyDay makes the pictures of the documentation: WEB_SHOTS=docs scripts/web-test
// -test.run Pictures.
func TestPicturesOfABusyDay(t *testing.T) {
	day := liveADay(t)
	server := httptest.NewServer(day.Handler())
	defer server.Close()
	b := openBrowser(t)
	b.zone("UTC")
	verdicts := func() string { return b.eval(`document.querySelector(".verdicts").innerText`) }
	b.screen(1100, 1790, "light")
	b.visit(server.URL + "/")
	shoot(t, b, "page.png")
	assert.Regexp(t, `(?s)^Problems\s+none\s.*longest 1h.*no capacity\..*USD/h\s.*kept for the next job`, verdicts(), "the first screen answers three questions")
	day.Board.NoteConfig("/etc/slurmflex/config.yaml has changed since 14:02:11; to apply it: systemctl reload slurmflex")
	b.screen(1100, 1790, "dark")
	b.visit(server.URL + "/")
	shoot(t, b, "dark.png")
	assert.Regexp(t, `(?s)^Problems\s+1\s.*systemctl reload slurmflex`, verdicts())
	accessible(t, b, 1100)
	b.screen(390, 1300, "dark")
	shoot(t, b, "phone.png")
	accessible(t, b, 390)
	b.visit(server.URL + b.eval(`document.querySelector(".verdicts a[href^='/troubleshooting']").getAttribute("href")`))
	assert.Equal(t, "true", b.eval(`document.querySelector("pre:target").innerText.startsWith("## Problems")`), "the link explains problems")
	accessible(t, b, 390)
	b.screen(1100, 800, "light")
	b.visit(server.URL + "/why?q=" + runningJobOf(day.Board, "mchen"))
	shoot(t, b, "story.png")
	assert.Empty(t, b.errors(), "on the console")
}

// runningJobOf returns a running job of a user.
func runningJobOf(board *web.Board, user string) string {
	v, err := board.View()
	if err != nil {
		return ""
	}
	for _, j := range v.Jobs {
		if j.User == user && j.State == "RUNNING" {
			return j.Name()
		}
	}
	return ""
}
