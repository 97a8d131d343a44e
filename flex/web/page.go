package web

import (
	"bytes"
	"embed"
	"fmt"
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
	Tiles    []tile
	Bad      []string
	Unread   bool // a region could not be read
	Waits    []rowData
	Machines []rowData
	Timeline *timeline // nil without machines
	Charts   []chart   // of the last day
	Keys     []key     // of the charts
	Ended    []endedData
	Static   []view.Nodes
	NodeSets []setData
	Regions  []view.Region
	Limits   []view.Limit
	Actions  []actionData // the last ones
	Earlier  []actionData
}

type rowData struct {
	view.Row
	Asked, When, Detail, Group, GPUs, Estimate string
	Names                                      []string // the first jobs of the row
	More                                       int      // number of further jobs
}

// mostNames is the maximum number of jobs named in a row.
const mostNames = 6

// newRow returns the page's data for a row.
func newRow(v view.View, r view.Row, detail string) rowData {
	row := rowData{Row: r, When: r.When(v.SeenAt), Detail: detail, Group: r.Group, Asked: r.Leases()}
	row.Names = r.ShownAs[:min(len(r.ShownAs), mostNames)]
	row.More = len(r.ShownAs) - len(row.Names)
	if r.Request != "" {
		row.Group += "/" + r.Request
	}
	if gpus, known := v.GPUsOf(r); known && gpus > 0 {
		row.GPUs = fmt.Sprint(gpus)
	}
	if r.Estimate != nil {
		row.Estimate = r.Estimate.Short()
	}
	return row
}

type setData struct {
	Summary, Blocked string
}

type actionData struct {
	view.Action
	When, Ran string
	Known     bool // a later action failed with the same error
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
	render(w, http.StatusOK, "page.html", newPage(v, day, ended, zoomOf(r.URL.Query().Get("zoom")), s.now(r)))
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
func newPage(v view.View, day []history.Entry, ended []view.Past, z zoom, now time.Time) pageData {
	p := pageData{
		Cluster: v.Cluster, SeenAt: v.SeenAt, At: at(v.SeenAt, now),
		Regions: v.Regions, Limits: v.Limits, Bad: slices.Clone(v.Problems), Unread: v.Unread(),
		Keys: chartKeys, Charts: newCharts(history.Samples(day, now), now),
	}
	if trouble := v.Daemon.Says(); trouble != "" {
		p.Bad = append([]string{trouble}, p.Bad...)
	}
	p.Bad = once(p.Bad)
	p.Tiles = tilesOf(v)
	rows := slices.Concat(v.Rows, v.Pending())
	p.Verdicts = verdictsOf(v, p.Bad, rows, now)
	p.Timeline = newTimeline(rows, v.Jobs, day, z, now)
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
	failed := map[string]bool{}
	for i, a := range v.Actions[:min(actionsShown, len(v.Actions))] {
		data := actionData{
			Action: a, When: view.Moment(a.At, now), Ran: time.Duration(a.Took).Round(100 * time.Millisecond).String(), Known: failed[a.Error],
		}
		failed[a.Error] = a.Error != ""
		if i < actionsFirst {
			p.Actions = append(p.Actions, data)
		} else {
			p.Earlier = append(p.Earlier, data)
		}
	}
	return p
}

// once returns the texts without repetitions.
func once(texts []string) (all []string) {
	for _, text := range texts {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
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
