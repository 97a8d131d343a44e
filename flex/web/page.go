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

// pageData is the data of the page: a view, and what is derived from it for a reader.
type pageData struct {
	view.View
	Now      time.Time // in the reader's zone
	At       string    // time of the observation, as text
	Verdicts []verdict
	Bad      []string
	Waits    []rowData
	Machines []rowData
	Timeline *timeline // nil without machines
	Chart    *chart    // of the last day; nil without a history
	Keys     []key     // of the chart
	Ended    []view.Past
	Static   []view.Nodes
	Actions  []actionData // the last ones
	Earlier  []actionData
}

// Moment formats a time for the reader.
func (p pageData) Moment(t time.Time) string { return view.Moment(t, p.Now) }

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

type actionData struct {
	view.Action
	When, Ran string
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
	render(w, http.StatusOK, "page.html", newPage(v, s.Board.History, s.now(r)))
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
func newPage(v view.View, past *history.Recorder, now time.Time) pageData {
	day, ended := past.Day(), past.Ended()
	p := pageData{
		View: v, Now: now, At: at(v.SeenAt, now), Bad: slices.Clone(v.Problems), Ended: ended[:min(endedShown, len(ended))],
		Keys: chartKeys, Chart: newChart(samplesOf(day, now), now),
	}
	if trouble := v.Daemon.Says(); trouble != "" {
		p.Bad = append([]string{trouble}, p.Bad...)
	}
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
		for _, n := range set.States {
			if n.Static {
				p.Static = append(p.Static, n)
			}
		}
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
