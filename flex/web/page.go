package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"slurmflex/flex/view"
)

//go:embed assets
var assets embed.FS

var (
	statusPage = parse("page.html")
	answerPage = parse("answer.html")
)

func parse(name string) *template.Template {
	return template.Must(template.New(name).ParseFS(assets, "assets/"+name))
}

// pageData is what the page shows.
type pageData struct {
	Cluster  string
	SeenAt   time.Time
	At       string // when it was seen, in words
	Summary  string
	Bad      []string
	Unread   bool // some region could not be read
	Waits    []rowData
	Machines []rowData
	Timeline *timeline // nil if there are no machines
	Static   []view.Nodes
	NodeSets []setData
	Regions  []view.Region
	Actions  []actionData
}

type rowData struct {
	view.Row
	Asked, When, Detail, Group string
}

type setData struct {
	Summary, Blocked string
}

type actionData struct {
	view.Action
	When, Ran string
}

// actionsShown is how many of the last actions the page shows.
const actionsShown = 50

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	v, ok := s.view(w)
	if !ok {
		return
	}
	render(w, http.StatusOK, statusPage, newPage(v, s.Now()))
}

// newPage is the view for a person who looks now.
func newPage(v view.View, now time.Time) pageData {
	p := pageData{
		Cluster: v.Cluster, SeenAt: v.SeenAt, At: view.Moment(v.SeenAt, now) + now.Format(" MST"),
		Summary: v.Summary(), Timeline: newTimeline(v, now), Regions: v.Regions, Bad: append(v.Held(), v.Problems...), Unread: v.Unread(),
	}
	if trouble := v.Daemon.Says(); trouble != "" {
		p.Bad = append([]string{trouble}, p.Bad...)
	}
	for _, r := range v.Rows {
		row := rowData{Row: r, When: r.When(v.SeenAt), Detail: r.Detail(now), Group: r.Group, Asked: r.Lease.Limit()}
		if r.Request != "" {
			row.Group += "/" + r.Request
		}
		if r.Waits() {
			p.Waits = append(p.Waits, row)
		} else {
			p.Machines = append(p.Machines, row)
		}
	}
	for _, set := range v.NodeSets {
		data := setData{Summary: v.SummaryOf(set)}
		if set.Block != nil {
			data.Blocked = set.Blocked(now)
		}
		p.NodeSets = append(p.NodeSets, data)
		for _, n := range set.States {
			if n.Static {
				p.Static = append(p.Static, n)
			}
		}
	}
	for _, a := range v.Actions[:min(actionsShown, len(v.Actions))] {
		p.Actions = append(p.Actions, actionData{
			Action: a, When: view.Moment(a.At, now), Ran: time.Duration(a.Took).Round(100 * time.Millisecond).String(),
		})
	}
	return p
}

// answerData is what the answer to why shows.
type answerData struct {
	Cluster, Query, Error string
	Story                 view.Story
}

// render writes a page, or nothing of it.
func render(w http.ResponseWriter, status int, page *template.Template, data any) {
	var text bytes.Buffer
	if err := page.Execute(&text, data); err != nil {
		http.Error(w, "cannot render the page: "+strings.ReplaceAll(err.Error(), "\n", " "), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}
