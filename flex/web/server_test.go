package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
	"slurmflex/test/scenetest"
)

var noon = scenetest.Noon

// world is a server and its board, with a settable clock.
type world struct {
	*Server
	cfg *config.Config
	now time.Time
	log *observer.ObservedLogs

	record *history.Recorder
}

// saw makes the board and the history see a pass.
func (w *world) saw(s *scene.Scene, p plan.Plan) {
	w.Board.saw(s, p)
	w.record.Watcher().Saw(s, p)
	w.record.Wait(time.Minute)
}

func newWorld() *world {
	cfg := scenetest.Cluster("partitions: {train: {partition_nodeset: [a3]}}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_static: 1, node_count_dynamic_max: 3", ""))
	core, log := observer.New(zap.InfoLevel)
	w := &world{cfg: cfg, now: noon, log: log}
	clock := func() time.Time { return w.now }
	w.Server = &Server{Board: NewBoard(cfg, clock), Address: "127.0.0.1:0", Log: zap.New(core), Now: clock}
	// Nothing can be written to this folder, so that the history is in memory only.
	w.record = &history.Recorder{Dir: os.DevNull, Cluster: "alpha", Log: zap.NewNop(), Notify: func(history.News) {}, Remembers: true}
	w.Board.History = w.record
	return w
}

// pass makes a pass that observes job 812 waiting and job 813 running. text replaces every text
// that other users can write.
func (w *world) pass(text string) {
	stamp := mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3"}
	snap := scene.Snapshot{
		Now: w.now,
		Slurm: scene.Slurm{
			Nodes: []slurm.Node{
				{Name: "alpha-a3-0", State: slurm.ParseState("IDLE+CLOUD+DRAIN"), Reason: text, ReasonBy: text, Extra: memo.Block{At: noon, Until: noon.Add(time.Hour)}.String()},
				{Name: "alpha-a3-1", State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")},
				{Name: "alpha-a3-2", State: slurm.ParseState("ALLOCATED+CLOUD")},
				{Name: text, State: slurm.ParseState(text)},
			},
			Jobs: []slurm.Job{
				{ID: 812, State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-1"}, User: text, Partition: text, Reason: text},
				{ID: 813, State: slurm.JobRunning, Nodes: []string{"alpha-a3-2"}, User: text},
			},
		},
		Compute: scene.Compute{
			Groups: []mig.Group{
				{Name: "alpha-a3-job-812", Region: "us-central1", Stamp: stamp, Requests: []mig.Request{{
					Name: "a1", State: mig.Accepted, Instances: []string{"alpha-a3-1"}, Duration: time.Hour, Created: noon.Add(-time.Hour), Trouble: mig.Trouble{Message: text},
				}}},
				{Name: "alpha-a3-job-813", Region: "us-central1", Stamp: stamp},
			},
			Instances: []mig.Instance{{
				Name: "alpha-a3-2", Region: "us-central1", Zone: text, Group: "alpha-a3-job-813", Status: "RUNNING",
				Created: noon.Add(-time.Hour), Terminates: noon.Add(time.Hour),
			}},
		},
	}
	w.saw(scene.Of(w.cfg, snap), plan.Plan{
		Waits: []demand.Wait{{
			Job: 812, NodeSet: "a3", Region: "us-central1", Group: "alpha-a3-job-812", Nodes: []string{"alpha-a3-1"},
			Lease: time.Hour, Stage: demand.Queued, Request: "a1", Requested: noon.Add(-time.Hour), Since: noon.Add(-time.Hour), Obstacle: text,
		}},
		Problems: scene.Problems{{Text: text}},
	})
	w.Board.did(action.DeleteGroup{Of: action.Of{Group: mig.GroupID{Name: text}}, Why: action.Why(text)}, w.now, time.Second, errors.New(text))
	w.Board.stood(nil)
}

// passed returns a world after one pass.
func passed(text string) *world {
	w := newWorld()
	w.pass(text)
	return w
}

// get sends the handler a request from a client on this host.
func (w *world) get(target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8918"+target, nil)
	for _, c := range change {
		c(r)
	}
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, r)
	return answer
}

// page returns the body of the answer to a request.
func (w *world) page(target string, change ...func(*http.Request)) string {
	return w.get(target, change...).Body.String()
}

// typeOf returns the content type of the answer to a request.
func (w *world) typeOf(target string) string { return w.get(target).Header().Get("Content-Type") }

// contains checks that a page contains all these texts.
func contains(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		assert.Contains(t, page, text)
	}
}

func asBrowser(r *http.Request) { r.Header.Set("Accept", "text/html,application/xhtml+xml") }

func TestPageLinksTasksAndComponentsBySqueueName(t *testing.T) {
	w := newWorld()
	wait := func(job uint32, node string) demand.Wait {
		return demand.Wait{Job: job, NodeSet: "a3", Region: "us-central1", Nodes: []string{node}, Stage: demand.Requesting, Since: noon}
	}
	w.saw(scene.Of(w.cfg, scene.Snapshot{Now: noon, Slurm: scene.Slurm{Jobs: []slurm.Job{
		{ID: 821, ArrayID: 821, HetID: 820, HetOffset: 1, State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-0"}},
		{ID: 901, ArrayID: 900, ArrayTask: "3", State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-1"}},
	}}}), plan.Plan{Waits: []demand.Wait{wait(821, "alpha-a3-0"), wait(901, "alpha-a3-1")}})
	w.Board.stood(nil)
	page := w.page("/")
	contains(t, page, `<a href="/why?q=820%2b1">820&#43;1</a>`, `<a href="/why?q=900_3">900_3</a>`)
	assert.Contains(t, w.page("/why?q=820%2b1"), "job 820+1   REQUESTING")
}

func TestPageShowsWaitsRunsAndActions(t *testing.T) {
	w := passed("none left")
	page := w.page("/")
	contains(t, page,
		"<title>slurmflex · alpha</title>", "As of", ">12:00:00 UTC</time>", `<a href="/why?q=812">812</a>`, "<b>queued</b>",
		`<a href="/why?q=813">813</a>`, "<b>running</b>", `<p class="value"><a href="#waiting">1, longest 1h00m</a></p>`, "<dt>next lease ends in</dt><dd>1h00m</dd>",
		"ends 13:00:00", "now, 12:00", "blocked until 13:00:00", "failed: none left", "delete group none left", "alpha-a3-0", "<b>drained</b>",
		"Nodes in the last day", "Since 11:00:00: at most 2 at a time. Last: 1 running, 0 idle, 0 booting, 1 waiting.")
}

func TestViewIsBuiltOncePerPassWhenAskedFor(t *testing.T) {
	w := newWorld()
	var built, kept atomic.Int32
	w.Board.Fill = func(*view.View) { built.Add(1) }
	w.Board.Keep = func(*scene.Scene, plan.Plan) { kept.Add(1) }
	w.pass("none left")
	w.pass("none left")
	assert.Zero(t, built.Load(), "nobody has asked")
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() { assert.Contains(t, w.page("/status.json"), `"job":812`) })
	}
	asking.Wait()
	assert.EqualValues(t, 1, built.Load())
	for range 8 {
		asking.Go(func() { w.pass("none left") })
		asking.Go(func() { w.get("/") })
		asking.Go(func() { w.get("/why?q=812&verbose=1") })
	}
	asking.Wait()
	assert.LessOrEqual(t, built.Load(), int32(1+8), "at most one view per pass")
	assert.EqualValues(t, 10, kept.Load(), "in each pass")
}

func TestEmptyPageSaysThatItIsEmpty(t *testing.T) {
	w := newWorld()
	w.saw(scene.Of(w.cfg, scene.Snapshot{Now: noon}), plan.Plan{})
	page := w.page("/")
	contains(t, page, "No jobs are waiting.", "No machines are running.", "None since the daemon started.")
}

// C19: a cause is shown until the next attempt, which may be minutes away.
func TestPageReportsThatReconcilingHasStopped(t *testing.T) {
	w := passed("")
	w.Board.stood(errors.New("read nodes: slurmctld is on fire"))
	w.now = noon.Add(time.Minute)
	assert.Contains(t, w.page("/"), "<li>slurmflex has stopped reconciling: read nodes: slurmctld is on fire (as of 12:00:00 UTC)</li>")
}

func TestTextOfOthersIsNeverMarkup(t *testing.T) {
	const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>" onload="alert(1)`
	w := passed(hostile)
	query := "/why?q=x" + strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", " ", "+").Replace(hostile)
	for _, target := range []string{"/", "/why?q=812", "/why?q=alpha-a3-0", query} {
		answer := w.get(target, asBrowser)
		assert.Equal(t, "text/html; charset=utf-8", answer.Header().Get("Content-Type"))
		body := answer.Body.String()
		for _, markup := range []string{"<script>", "<img", `" onload=`, "://", "style=", "<style", "onclick", "javascript:"} {
			assert.NotContains(t, body, markup, target)
		}
		assert.Contains(t, body, "&lt;script&gt;alert(1)", target)
	}
	assert.Equal(t, "application/json", w.typeOf("/status.json"))
	assert.NotContains(t, w.page("/status.json"), "<script>")
}

func TestStatusIsTheView(t *testing.T) {
	w := passed("none left")
	var v view.View
	require.NoError(t, json.Unmarshal(w.get("/status.json").Body.Bytes(), &v))
	want, err := w.Board.View()
	require.NoError(t, err)
	assert.Equal(t, want, v)
	assert.Equal(t, &view.Daemon{LastGoodAt: noon, Interval: view.Seconds(30 * time.Second)}, v.Daemon)
}

func TestWhyAnswersPeopleAndPrograms(t *testing.T) {
	w := passed("none left")
	for target, want := range map[string]struct {
		code int
		says string
	}{
		"/why?q=812":                            {http.StatusOK, "job 812 (none left)"},
		"/why?q=alpha-a3-1":                     {http.StatusOK, "node alpha-a3-1 of nodeset a3"},
		"/why?q=alpha-a3-9":                     {http.StatusNotFound, "no job, node, nodeset or group named "},
		"/why?q=":                               {http.StatusBadRequest, "give the number of a job"},
		"/why":                                  {http.StatusBadRequest, "give the number of a job"},
		"/why?q=" + strings.Repeat("x", 257):    {http.StatusBadRequest, "give the number of a job"},
		"/why?q=%1b%5b2J":                       {http.StatusNotFound, "[2J"},
		"/why?q=alpha-a3-job-812%2fa1&unasked=": {http.StatusOK, "group alpha-a3-job-812"},
	} {
		text := w.get(target)
		assert.Equal(t, want.code, text.Code, target)
		assert.Equal(t, "text/plain; charset=utf-8", text.Header().Get("Content-Type"))
		assert.Contains(t, text.Body.String(), want.says)
		page := w.get(target, asBrowser)
		assert.Equal(t, want.code, page.Code, target)
		assert.Contains(t, page.Body.String(), want.says)
	}
	v, err := w.Board.View()
	require.NoError(t, err)
	answer, err := v.Why("812", noon, nil)
	require.NoError(t, err)
	page := w.page("/why?q=812", asBrowser)
	assert.Contains(t, page, template.HTMLEscapeString(answer.State))
	for _, f := range answer.Fields() {
		assert.Contains(t, page, template.HTMLEscapeString(f.Text), f.Name)
	}
}

func TestBeforeTheFirstPassAnErrorExplainsWhy(t *testing.T) {
	w := newWorld()
	for _, target := range []string{"/", "/status.json", "/why?q=812"} {
		answer := w.get(target)
		assert.Equal(t, http.StatusServiceUnavailable, answer.Code)
		assert.Contains(t, answer.Body.String(), "its first pass is running")
	}
	w.Board.stood(fmt.Errorf("%w on ctl2", leader.ErrStandby))
	assert.Contains(t, w.page("/status.json"), "the daemon has not completed a pass yet: slurmctld is active on ctl2")
}

func TestHealthNeedsAPassWithinThreeIntervalsAndAMargin(t *testing.T) {
	w := newWorld()
	healthy := func(want int, says string) {
		t.Helper()
		answer := w.get("/healthz")
		assert.Equal(t, want, answer.Code)
		assert.Contains(t, answer.Body.String(), says)
	}
	later := func(d time.Duration) { w.now = w.now.Add(d) }
	const limit = 3*30*time.Second + time.Minute

	healthy(http.StatusOK, "ok, cluster alpha\n")
	later(limit + time.Second)
	healthy(http.StatusServiceUnavailable, "no successful pass since the daemon started 2m ago")
	w.Board.stood(nil)
	later(limit)
	healthy(http.StatusOK, "ok")
	w.Board.stood(errors.New("read nodes: slurmctld is on fire"))
	later(time.Second)
	healthy(http.StatusServiceUnavailable, "last successful pass 2m ago: read nodes: slurmctld is on fire (as of 12:05:01 UTC)")
	w.Board.stood(fmt.Errorf("%w on ctl2", leader.ErrStandby))
	healthy(http.StatusOK, "ok")
}

func TestOnlyReadsAreAllowed(t *testing.T) {
	w := passed("")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		answer := w.get("/", func(r *http.Request) { r.Method = method })
		assert.Equal(t, http.StatusMethodNotAllowed, answer.Code, method)
		assert.Equal(t, "GET, HEAD", answer.Header().Get("Allow"))
	}
	assert.Equal(t, http.StatusOK, w.get("/", func(r *http.Request) { r.Method = http.MethodHead }).Code)
	for _, target := range []string{"/nothing", "/assets/page.html", "/metrics", "/../server.go", "/page.html"} {
		assert.NotEqual(t, http.StatusOK, w.get(target).Code, target)
	}
}

// C16: host names are case-insensitive.
func TestLoopbackRequiresALoopbackName(t *testing.T) {
	w := newWorld()
	w.Address = "ctl1:8918"
	w.pass("")
	over := func(ip, host string) int {
		return w.get("/", func(r *http.Request) {
			r.Host = host
			*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP(ip)}))
		}).Code
	}
	for _, host := range []string{"localhost", "LOCALHOST", "Localhost:8918", "localhost:8918", "127.0.0.1:8918", "127.0.0.2", "[::1]:8918", "[::1]", "ctl1:8918", "CTL1:8918"} {
		assert.Equal(t, http.StatusOK, over("127.0.0.1", host), host)
	}
	for _, host := range []string{"evil.example", "evil.example:8918", "localhost.evil.example", "10.0.0.7", "", ":8918", "127.0.0.1.evil.example"} {
		assert.Equal(t, http.StatusMisdirectedRequest, over("::1", host), host)
		assert.Equal(t, http.StatusOK, over("10.0.0.7", host), "the admin chose this address")
	}
	unknown := w.get("/", func(r *http.Request) { r.Host = "evil.example" })
	assert.Equal(t, http.StatusMisdirectedRequest, unknown.Code, "an unknown connection counts as loopback")
}

func TestEveryAnswerRestrictsBrowsers(t *testing.T) {
	w := passed("")
	for _, target := range []string{"/", "/status.json", "/why?q=812", "/why?q=x", "/healthz", "/page.js", "/style.css", "/icon.svg", "/nothing"} {
		h := w.get(target, asBrowser).Header()
		assert.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'", target)
		assert.NotContains(t, h.Get("Content-Security-Policy"), "unsafe")
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), target)
		assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), target)
	}
	assert.Contains(t, w.typeOf("/page.js"), "javascript")
	assert.Contains(t, w.typeOf("/style.css"), "text/css")
	assert.Equal(t, "image/svg+xml", w.typeOf("/icon.svg"))
}

func TestTakenAddressIsLoggedOnceAndServedWhenFree(t *testing.T) {
	w := newWorld()
	other := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	w.Address = other.Addr().String()
	w.again = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	told := func() []observer.LoggedEntry { return w.log.FilterLevelExact(zap.ErrorLevel).All() }
	require.Eventually(t, func() bool { return len(told()) > 0 }, time.Minute, time.Millisecond)
	time.Sleep(20 * w.again)
	require.Len(t, told(), 1)
	assert.Contains(t, told()[0].Message, "cannot listen on http_address")
	assert.Contains(t, told()[0].ContextMap()["error"], "address already in use")

	require.NoError(t, other.Close())
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + w.Address + "/healthz")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	stop()
	<-ended
	_, err := net.Dial("tcp", w.Address)
	assert.Error(t, err, "the listener is closed")
}

func TestEachPathIsDocumented(t *testing.T) {
	page := must.Text("../../docs/reference.md")
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^- (`/.*?):").FindAllStringSubmatch(page, -1) {
		for _, path := range regexp.MustCompile("`(/[^`?]*)").FindAllStringSubmatch(row[1], -1) {
			documented[path[1]] = true
		}
	}
	answered := map[string]bool{}
	for path := range (&Server{Metrics: http.NotFoundHandler()}).routes() {
		answered[strings.TrimSuffix(path, "{$}")] = true
	}
	assert.Equal(t, answered, documented)
}
