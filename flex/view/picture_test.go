package view

import (
	"fmt"
	"html"
	"strings"
	"testing"
)

// The picture of status in docs/reference.md is the table itself. UPDATE=1 draws it again.
func TestPictureOfStatusMatchesItsOutput(t *testing.T) {
	golden(t, "../../../docs/status.svg", picture(busy().view().Table(Look{Now: noon, Width: Width, Color: true})))
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
