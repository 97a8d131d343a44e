package view

import (
	"cmp"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// The picture of status in docs/reference.md is the table itself. UPDATE=1 draws it again.
func TestPictureOfStatusMatchesItsOutput(t *testing.T) {
	v := workday().view()
	colored := v.Table(Layout{Now: noon, Width: Width, Color: true})
	golden(t, "../../../docs/status.svg", picture(colored))

	plain := v.Table(Layout{Now: noon, Width: Width})
	narrow(t, plain, Width)
	for _, code := range []color{Good, Warn, Bad, Head, reset} {
		colored = strings.ReplaceAll(colored, string(code), "")
	}
	assert.Equal(t, plain, colored, "colors change nothing else")
}

// workday returns a world with several users: jobs that wait, run and are pending, and idle machines.
func workday() *world {
	s := newWorld()
	s.Config.Options.MaxActiveRequests = 100
	s.waits()
	s.group(812, request("a1", mig.Accepted, "alpha-a3-[0-1]", "ZONE_RESOURCE_POOL_EXHAUSTED: none", 89*time.Minute))
	s.waiting(814, "alpha-a3-5")
	s.group(814, request("a1", mig.Failed, "alpha-a3-5", "RESOURCE_POOL_EXHAUSTED: none left", 20*time.Second))
	s.up(809, "alpha-a3-[2-4]", slurm.JobRunning, 2*time.Hour)
	s.job(815, "always", "alpha-st-0", slurm.JobRunning)
	s.Nodes("alpha-st-0", "ALLOCATED+CLOUD")
	for id := range uint32(3) {
		s.job(820+id, "train", "", slurm.JobPending).Reason = "Priority"
	}
	s.because("alpha-a3-7", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "bad GPU", "root")
	users := map[uint32]string{809: "priya", 812: "mchen", 814: "tomas", 815: "jlee"}
	for i := range s.Snap.Jobs {
		j := &s.Snap.Jobs[i]
		j.User = cmp.Or(users[j.ID], "sofia")
		if j.State == slurm.JobPending {
			j.Start, j.NodeCount = time.Time{}, 2
		}
	}
	return s
}

// picture draws a terminal's output of a text as SVG.
func picture(text string) string {
	colors := strings.NewReplacer(
		string(Good), `<tspan class="good">`, string(Warn), `<tspan class="warn">`, string(Bad), `<tspan class="bad">`,
		string(Head), `<tspan class="head">`, reset, `</tspan>`)
	lines := strings.Split("$ slurmflex status\n"+strings.TrimRight(text, "\n"), "\n")
	height := 18*len(lines) + 24
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 %[1]d" width="880" height="%[1]d" role="img" aria-labelledby="t">
  <title id="t">What slurmflex status prints on a busy cluster</title>
  <style>
    text { font: 14px monospace; fill: #e8edf2; white-space: pre }
    .good { fill: #78c48a } .warn { fill: #dcb64d } .bad { fill: #ff8a80 } .head { font-weight: bold }
  </style>
  <rect width="880" height="%[1]d" rx="8" fill="#16202c"/>
`, height)
	for i, line := range lines {
		fmt.Fprintf(&svg, "  <text x=\"16\" y=\"%d\">%s</text>\n", 18*i+28, colors.Replace(html.EscapeString(line)))
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}
