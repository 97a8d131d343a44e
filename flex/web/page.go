package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

//go:embed assets
var assets embed.FS

var pages = template.Must(template.ParseFS(assets, "assets/*.html"))

// pageData is the data of the page.
type pageData struct {
	Cluster  string
	SeenAt   time.Time
	At       string // time of the observation, as text
	Verdicts []verdict
	Tiles    []view.Figure
	Bad      []string
	Unread   bool // a region could not be read
	Waits    []rowData
	Machines []rowData
	Timeline *timeline // nil without machines
	Chart    *chart    // of the last day; nil without a history
	Keys     []key     // of the chart
	Ended    []endedData
	Static   []view.Nodes
	NodeSets []setData
	Regions  []view.Region
	Limits   []view.Limit
	Actions  []actionData // the last ones
	Earlier  []actionData
}

// rowData is a row with the cells of its columns in the table of status.
type rowData struct {
	view.Row
	Cells  map[string]string
	Detail string
	Names  []string // the first jobs of the row
	More   int      // number of further jobs
}

// mostNames is the maximum number of jobs named in a row.
const mostNames = 6

// newRow returns the page's data for a row.
func newRow(v view.View, r view.Row, detail string) rowData {
	names := r.ShownAs[:min(len(r.ShownAs), mostNames)]
	return rowData{r, v.Cells(r), detail, names, len(r.ShownAs) - len(names)}
}

type setData struct {
	Summary, Blocked string
}

type actionData struct {
	view.Action
	When, Ran string
}

type endedData struct {
	view.Past
	When string
}

// These constants limit the part of the past that the page shows.
const (
	actionsShown = 50
	actionsFirst = 3 // shown without a click
	endedShown   = 50
)

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	v, ok := s.view(w)
	if !ok {
		return
	}
	var day []history.Entry
	var ended []view.Past
	if s.Board.History != nil {
		day, ended = s.Board.History.Day(), s.Board.History.Ended()
	}
	render(w, http.StatusOK, "page.html", newPage(v, day, ended, s.now(r)))
}

// now returns the time in the reader's zone, which page.js sends, or else in the daemon's zone.
func (s *Server) now(r *http.Request) time.Time {
	now := s.Now()
	if name := r.Header.Get("Time-Zone"); name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			return now.In(zone)
		}
	}
	return now
}

// at formats a time in the reader's zone, and names the zone.
func at(t, now time.Time) string { return view.Moment(t, now) + now.Format(" MST") }

// newPage returns the page for a reader at that time.
func newPage(v view.View, day []history.Entry, ended []view.Past, now time.Time) pageData {
	p := pageData{
		Cluster: v.Cluster, SeenAt: v.SeenAt, At: at(v.SeenAt, now),
		Regions: v.Regions, Limits: v.Limits, Bad: slices.Clone(v.Problems), Unread: v.Unread(),
		Keys: chartKeys, Chart: newChart(history.Samples(day, now), now),
	}
	if trouble := v.Daemon.Says(); trouble != "" {
		p.Bad = append([]string{trouble}, p.Bad...)
	}
	p.Tiles = v.Figures()
	rows := slices.Concat(v.Rows, v.Pending())
	p.Verdicts = verdictsOf(v, p.Bad, rows, now)
	p.Timeline = newTimeline(rows, v.Jobs, day, now)
	details := view.Details(rows, now)
	for i, r := range rows {
		if r.Waits() || r.State == view.Pending {
			p.Waits = append(p.Waits, newRow(v, r, details[i]))
		} else {
			p.Machines = append(p.Machines, newRow(v, r, details[i]))
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
	for _, j := range ended[:min(endedShown, len(ended))] {
		p.Ended = append(p.Ended, endedData{j, view.Moment(j.EndedAt, now)})
	}
	for i, a := range v.Actions[:min(actionsShown, len(v.Actions))] {
		data := actionData{a, view.Moment(a.At, now), time.Duration(a.Took).Round(100 * time.Millisecond).String()}
		if i < actionsFirst {
			p.Actions = append(p.Actions, data)
		} else {
			p.Earlier = append(p.Earlier, data)
		}
	}
	return p
}

// render writes a page, or an error if rendering fails.
func render(w http.ResponseWriter, status int, name string, data any) {
	var text bytes.Buffer
	if err := pages.ExecuteTemplate(&text, name, data); err != nil {
		http.Error(w, "cannot render the page: "+strings.ReplaceAll(err.Error(), "\n", " "), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}
