package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/docs"
	"slurmflex/flex/history"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

// shapes formats a bar's pieces, one per line.
func shapes(b bar) (all []string) {
	for _, p := range b.Pieces {
		text := p.Kind + " " + p.X + " " + p.Width
		if p.Planned {
			text += " planned"
		}
		all = append(all, text)
	}
	return all
}

func TestTimelineShowsEachLeasesPastPresentAndFutureUse(t *testing.T) {
	row := func(nodes string, state view.State, ends time.Duration) view.Row {
		return view.Row{NodeSet: "a3", Nodes: []string{nodes}, State: state, Since: noon.Add(-3 * time.Hour), EndsAt: noon.Add(ends), Group: "alpha-a3-job-7", Jobs: []uint32{7}, ShownAs: []string{"7"}}
	}
	running := row("alpha-a3-2", view.Running, 12*time.Hour)
	jobs := []view.Job{{ID: 7, State: "RUNNING", StartAt: noon, Limit: view.Seconds(6 * time.Hour)}}
	day := []history.Entry{{
		Kind: history.Lease, Node: running.Nodes[0], From: history.At(running.Since), To: history.At(noon), Booting: 3600, Ongoing: true,
		Uses: []history.Use{{From: history.At(noon.Add(-2 * time.Hour)), To: history.At(noon.Add(-time.Hour))}},
	}}
	young := row("b", view.Booting, 0)
	young.Since, young.EndsAt, young.Lease = noon.Add(-time.Hour), time.Time{}, view.Seconds(18*time.Hour)
	rows := []view.Row{
		{State: view.Queued, Since: noon.Add(-9 * time.Hour)}, running, young, row("c", view.Deleting, time.Hour),
	}
	got := newTimeline(rows, jobs, day, noon)
	require.Len(t, got.Bars, 3, "a waiting row lacks a lease")
	assert.Equal(t, "c · job 7 · deleting · ends 13:00:00", got.Bars[0].Label, "the earliest end is on top")
	assert.Equal(t, []string{"unknown 12.50% 12.50%"}, shapes(got.Bars[0]), "its lease is over")
	assert.Equal(t, []string{"booting 12.50% 4.17%", "running 16.67% 4.17%", "idle 20.83% 4.17%", "running 25.00% 25.00% planned", "left 50.00% 25.00%"}, shapes(got.Bars[1]))
	assert.Equal(t, "75.00%", got.Bars[1].End)
	assert.Equal(t, []string{"unknown 20.83% 4.17%", "left 25.00% 70.83%"}, shapes(got.Bars[2]), "the history lacks the machine")
	assert.Equal(t, tick{"25.00%", "middle", "now, 12:00"}, got.Now)
	assert.Equal(t, []tick{{"50.00%", "middle", "18:00"}, {"75.00%", "middle", "00:00"}}, got.Ticks)
	assert.Nil(t, newTimeline(nil, nil, day, noon))

	short := row("d", view.Running, 3*time.Hour)
	assert.Equal(t, []string{"unknown 0.00% 25.00%", "running 25.00% 37.50% planned"},
		shapes(newTimeline([]view.Row{short}, jobs, day, noon).Bars[0]), "a lease that ends before the time limit")
	for range mostBars + 2 {
		rows = append(rows, running)
	}
	full := newTimeline(rows, jobs, day, noon)
	assert.Len(t, full.Bars, mostBars)
	assert.Equal(t, 5, full.More)
}

func TestChartStacksSamples(t *testing.T) {
	nodes := func(minutes int, running, waiting int) sample {
		return sample{At: noon.Add(time.Duration(minutes) * time.Minute), Nodes: map[view.State]int{view.Running: running, view.Waiting: waiting}, Sum: running + waiting}
	}
	h := newChart([]sample{nodes(-60, 2, 2), nodes(-45, 2, 2), nodes(-30, 1, 0), nodes(-15, 0, 0), nodes(0, 0, 0)}, noon)
	assert.Equal(t, 4, h.Most)
	var columns []string
	for _, c := range h.Columns {
		columns = append(columns, fmt.Sprintf("%s %s+%s %s+%s", c.Kind, c.X, c.Width, c.Y, c.Height))
	}
	assert.Equal(t, []string{
		"running 0.00%+50.00% 66.0+48.0", "waiting 0.00%+50.00% 18.0+48.0", "running 50.00%+25.00% 90.0+24.0",
	}, columns)
	assert.Equal(t, "Since 11:00:00: at most 4 at a time. Last: 0 running, 0 idle, 0 booting, 0 waiting.", h.Desc)
	assert.Equal(t, []tick{{"0%", "start", "11:00"}, {"50%", "middle", "11:30"}, {"100%", "end", "now"}}, h.Ticks)

	var long []sample
	for minute := range 24 * 60 {
		long = append(long, nodes(minute-24*60, minute%7, 1))
	}
	assert.LessOrEqual(t, len(newChart(long, noon).Columns), 4*mostColumns)
	assert.Nil(t, newChart(nil, noon))
}

// U8: at the zoom of a day, leases of ten minutes were slivers.
func TestTimelineFitsTheLeases(t *testing.T) {
	lease := func(left time.Duration) view.Row {
		return view.Row{State: view.Running, Since: noon.Add(-time.Minute), EndsAt: noon.Add(left)}
	}
	width := func(rows ...view.Row) string {
		tl := newTimeline(rows, nil, nil, noon)
		assert.NotEmpty(t, tl.Ticks)
		return tl.Bars[0].Pieces[len(tl.Bars[0].Pieces)-1].Width
	}
	assert.Equal(t, "50.00%", width(lease(10*time.Minute)))
	assert.Equal(t, "50.00%", width(lease(10*time.Minute), lease(10*time.Minute), lease(7*24*time.Hour)), "a long one is cut")
	assert.Equal(t, "75.00%", width(lease(7*24*time.Hour+12*time.Hour)))
	assert.Equal(t, "75.00%", width(lease(100*24*time.Hour)))
}

// U8: "5 jobs waiting" stood above "No nodes are waiting".
func TestPageShowsPendingJobs(t *testing.T) {
	w := newWorld()
	snap := scene.Snapshot{Now: noon}
	for id := range uint32(mostNames + 8) {
		snap.Jobs = append(snap.Jobs, slurm.Job{
			ID: 900 + id, ArrayID: 900 + id, User: "ada", Partition: "train", State: slurm.JobPending, Reason: "Priority", NodeCount: 2,
			Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Duration(id+1) * time.Hour},
		})
	}
	w.saw(scene.Of(w.cfg, snap), plan.Plan{})
	page := w.page("/")
	contains(t, page,
		`<p class="value"><a href="#waiting">14</a></p>`,
		`<tr class="pending">`,
		`<a href="/why?q=905">905</a> and 8 more</td>`,
		"<td>28 nodes</td>",
		"pending in partition train: jobs of higher priority go first (Priority)")
	assert.NotContains(t, page, "No jobs are waiting")
}

// U8: all tiles looked equally important.
func TestPageAnswersFirstWhatIsWrongWaitsAndCosts(t *testing.T) {
	row := func(state view.State, nodes string, jobs ...string) view.Row {
		return view.Row{NodeSet: "a3", State: state, Count: 1, Nodes: []string{nodes}, ShownAs: jobs, Since: noon.Add(-time.Hour)}
	}
	old := row(view.Queued, "a", "812")
	old.Since, old.Users, old.Jobs, old.Error, old.Cause = noon.Add(-2*time.Hour), []string{"ada"}, []uint32{812}, "none left", "capacity"
	young := row(view.Queued, "b", "813")
	young.Jobs = []uint32{813}
	v := view.View{
		SeenAt: noon, NodeSets: []view.NodeSet{{Name: "a3", Machine: "a3-highgpu-8g", Partitions: []string{"train"}, Price: &view.Price{Hour: 40, Currency: "USD"}}},
		Rows: []view.Row{young, old, row(view.Idle, "c"), row(view.Down, "d"), row(view.Running, "e", "814")},
		Jobs: []view.Job{{ID: 2, Partition: "train", State: "PENDING", Reason: "JobHeldAdmin"}},
	}
	all := verdictsOf(v, []string{"first", "second"}, v.Rows, noon)
	assert.Equal(t, []verdict{
		{Title: "Problems", Value: "2, 1 job held", Text: "first", Kind: wrong, More: 1, Link: "#problems", Help: "/troubleshooting#problems"},
		{Title: "Jobs waiting", Value: "2, longest 2h00m", Text: "ada’s 812: capacity", Link: "#waiting", Help: "/troubleshooting#a-job-waits-too-long"},
		{Title: "Machines without a job", Value: "2, 16 GPUs, 80 USD/h", Text: "c: idle, d: down", Kind: money, Link: "#machines", Help: "/troubleshooting#machines-cost-money-without-a-job"},
	}, all)
	for _, is := range verdictsOf(view.View{SeenAt: noon}, nil, nil, noon) {
		assert.Equal(t, calm, is.Kind, is.Title)
		assert.Empty(t, is.Text, is.Title)
	}
	pending := []view.Row{{State: view.Pending, Obstacle: "pending in partition train: Priority", ShownAs: []string{"9"}, Jobs: []uint32{9}}}
	waiting := view.View{SeenAt: noon, NodeSets: v.NodeSets, Jobs: []view.Job{{ID: 9, Partition: "train", State: "PENDING", Reason: "Priority"}}}
	assert.Equal(t, "9: pending in partition train: Priority", verdictsOf(waiting, nil, pending, noon)[1].Text)
}

// L3: the alerts linked to a file of the controller.
func TestPageAndAlertsLinkToSectionsOfTroubleshooting(t *testing.T) {
	w := passed("ada")
	text := w.page("/troubleshooting")
	rules := must.Get(os.ReadFile("../../scripts/prometheus/slurmflex.rules.yaml"))
	for what, from := range map[string]string{"the page": w.page("/"), "the alert rules": string(rules)} {
		links := regexp.MustCompile(`/troubleshooting#([\w-]+)`).FindAllStringSubmatch(from, -1)
		require.NotEmpty(t, links, what)
		for _, link := range links {
			assert.Equal(t, 1, strings.Count(text, `<pre class="doc" id="`+link[1]+`">## `), "%s: %s", what, link[1])
		}
	}
	assert.NotContains(t, text, "page.js", "a text that is being read is not replaced")
	var whole strings.Builder
	for _, s := range sectionsOf(docs.Troubleshooting) {
		whole.WriteString(s.Text)
	}
	assert.Equal(t, docs.Troubleshooting, whole.String())
}

func TestStoryIsTheSameForProgramsAndThePage(t *testing.T) {
	w := passed("train")
	assert.Equal(t, http.StatusNotFound, w.get("/story.json?q=814").Code)
	var past view.Past
	answer := w.get("/story.json?q=812")
	require.Equal(t, http.StatusOK, answer.Code)
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &past))
	require.NotEmpty(t, past.Events)
	page := w.page("/why?q=812", asBrowser)
	for _, e := range past.Events {
		assert.Contains(t, page, fmt.Sprintf("<time datetime=%q>%s</time> <b>%s</b>", e.At.Format(time.RFC3339), e.At.Format("15:04:05"), template.HTMLEscapeString(e.Kind)))
	}
	assert.NotContains(t, w.page("/why?q=812"), "Story:", "the name is long")
	assert.Contains(t, w.page("/why?q=812&verbose=1"), "Story:")
	w.saw(scene.Of(w.cfg, scene.Snapshot{Now: noon.Add(time.Hour)}), plan.Plan{})
	assert.Contains(t, w.page("/why?q=812"), "Story:", "the job has ended")
	assert.Contains(t, w.page("/"), `Ended jobs (1)`, "of a partition with flex-start nodes")
	assert.NotContains(t, w.page("/why?q=814", asBrowser), "<h2>Story")
}

func TestTimesAreInTheReadersZone(t *testing.T) {
	w := passed("ada")
	for name, says := range map[string][2]string{
		"": {">12:00:00 UTC<", "11:00:00"}, "Asia/Tokyo": {">21:00:00 JST<", "20:00:00"},
		"../etc/passwd": {">12:00:00 UTC<", "11:00:00"}, "nowhere": {">12:00:00 UTC<", "11:00:00"},
	} {
		in := func(r *http.Request) { r.Header.Set("Time-Zone", name) }
		assert.Contains(t, w.page("/", in), says[0], name)
		assert.Contains(t, w.page("/why?q=812", in), " since "+says[1], name)
	}
}
