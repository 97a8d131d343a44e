package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// goal is whom a call is for.
type goal string

// The goals, and the program itself, which does not always run.
const (
	compute    goal = "Compute"
	controller goal = "slurmctld"
	program    goal = "slurmflex"
)

// faults knows what goes wrong with calls at the moment.
type faults struct {
	dice dice

	mu     sync.Mutex
	caught []caught
	counts map[string]count // calls so far, by what they were
	sick   map[goal]time.Time
}

// count is how many calls of a kind there were, those of one instant being one.
type count struct {
	n    int
	last time.Time
}

// caught is a sickness that goes about.
type caught struct {
	no    int // of the event that brought it
	goal  goal
	until time.Time
	sickness
}

func (a *faults) catch(no int, of goal, s sickness) {
	defer locked(&a.mu)()
	a.caught = append(a.caught, caught{no, of, time.Now().Add(s.lasts), s})
}

// heal ends all sicknesses.
func (a *faults) heal() {
	defer locked(&a.mu)()
	a.caught = nil
}

// turn is one call: which of its kind it is, how long it takes to get there,
// and what goes wrong with it.
type turn struct {
	goal    goal
	key     []any
	way     time.Duration
	ailment ailment // "" for none
}

// next decides about a call. All calls of a kind on an object are counted, so
// that each has a lot of its own, but that those made at one instant have the
// same: nothing tells them apart.
func (a *faults) next(of goal, kind, object string) turn {
	defer locked(&a.mu)()
	if a.counts == nil {
		a.counts = map[string]count{}
	}
	what := string(of) + " " + kind + " " + object
	c := a.counts[what]
	if now := time.Now(); !now.Equal(c.last) {
		c = count{c.n + 1, now}
	}
	a.counts[what] = c
	t := turn{goal: of, key: []any{what, c.n}}
	t.way = a.dice.span(2*time.Millisecond, 60*time.Millisecond, append(t.key, "way")...)
	a.caught = slices.DeleteFunc(a.caught, func(c caught) bool { return !c.until.After(time.Now()) })
	for _, c := range a.caught {
		if c.goal == of && (c.calls == everything || c.calls == kind) && a.dice.oneIn(c.oneIn, append(t.key, c.no)...) {
			t.ailment = c.ailment
			break
		}
	}
	return t
}

// suffered notes that something has gone wrong with calls for a goal.
func (a *faults) suffered(of goal) {
	defer locked(&a.mu)()
	if a.sick == nil {
		a.sick = map[goal]time.Time{}
	}
	a.sick[of] = time.Now()
}

// well reports whether no call for these goals has gone wrong since then, and none
// may now.
func (a *faults) well(since time.Time, goals ...goal) bool {
	defer locked(&a.mu)()
	for _, of := range goals {
		if !a.sick[of].Before(since) || slices.ContainsFunc(a.caught, func(c caught) bool { return c.goal == of }) {
			return false
		}
	}
	return true
}

// errKilled is what a call of a killed process ends with; nobody sees it.
var errKilled = errors.New("the process was killed")

// errCut is a connection that broke.
var errCut = fmt.Errorf("connection reset: %w", io.ErrUnexpectedEOF)

// wire carries a process's calls to Compute, or does not.
type wire struct {
	process *process
	next    http.RoundTripper
}

// apiKinds are the calls that the product makes, by verb and path.
var apiKinds = []struct {
	verb string
	path *regexp.Regexp
	kind string
}{
	{http.MethodGet, regexp.MustCompile(`^regions/[^/]+/instanceGroupManagers$`), "list groups"},
	{http.MethodPost, regexp.MustCompile(`^regions/[^/]+/instanceGroupManagers$`), "create group"},
	{http.MethodDelete, regexp.MustCompile(`^regions/[^/]+/instanceGroupManagers/[^/]+$`), "delete group"},
	{http.MethodPost, regexp.MustCompile(`/deleteInstances$`), "delete instances"},
	{http.MethodPost, regexp.MustCompile(`/listManagedInstances$`), "list members"},
	{http.MethodGet, regexp.MustCompile(`/resizeRequests$`), "list requests"},
	{http.MethodPost, regexp.MustCompile(`/resizeRequests$`), "create request"},
	{http.MethodPost, regexp.MustCompile(`/cancel$`), "cancel request"},
	{http.MethodDelete, regexp.MustCompile(`/resizeRequests/[^/]+$`), "delete request"},
	{http.MethodGet, regexp.MustCompile(`^aggregated/instances$`), "list instances"},
	{http.MethodGet, regexp.MustCompile(`^zones/[^/]+/instances$`), "list instances"},
	{http.MethodPost, regexp.MustCompile(`/bulkInsert$`), "insert instances"},
	{http.MethodDelete, regexp.MustCompile(`/instances/[^/]+$`), "delete instance"},
	{http.MethodGet, regexp.MustCompile(`/resourcePolicies$`), "list policies"},
	{http.MethodPost, regexp.MustCompile(`/resourcePolicies$`), "create policy"},
	{http.MethodDelete, regexp.MustCompile(`/resourcePolicies/[^/]+$`), "delete policy"},
	{http.MethodPost, regexp.MustCompile(`/operations/[^/]+/wait$`), "wait"},
	{http.MethodGet, regexp.MustCompile(`/instanceTemplates/[^/]+$`), "read template"},
	{http.MethodGet, regexp.MustCompile(`^regions/[^/]+$`), "read region"},
	{http.MethodGet, regexp.MustCompile(`^zones/[^/]+/operations$`), "list operations"},
	{http.MethodGet, regexp.MustCompile(`^regions/[^/]+/operations$`), "list operations"},
}

// apiCalls are the kinds of calls that a sickness may be of.
func apiCalls() []string {
	var kinds []string
	for _, k := range apiKinds {
		if !slices.Contains(kinds, k.kind) {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

func callOf(r *http.Request) (apiCall, error) {
	c := apiCall{kind: "other", object: strings.TrimPrefix(r.URL.Path, "/compute/v1/projects/"+project+"/")}
	for _, k := range apiKinds {
		if k.verb == r.Method && k.path.MatchString(c.object) {
			c.kind = k.kind
			break
		}
	}
	if r.Body == nil {
		return c, nil
	}
	defer r.Body.Close()
	var err error
	c.body, err = io.ReadAll(r.Body)
	return c, err
}

// subject is what the call is about: its path, and the name of what it makes,
// so that two calls made at one instant are told apart.
func (c apiCall) subject() string {
	var made struct {
		Name                  string
		PerInstanceProperties map[string]any
	}
	if err := json.Unmarshal(c.body, &made); err != nil {
		return c.object // without a body, or refused for it
	}
	return strings.Join(append([]string{c.object, made.Name}, slices.Sorted(maps.Keys(made.PerInstanceProperties))...), " ")
}

// changes reports whether the call is to change something.
func (c apiCall) changes() bool {
	return strings.HasPrefix(c.kind, "create ") || strings.HasPrefix(c.kind, "delete ") ||
		strings.HasPrefix(c.kind, "cancel ") || strings.HasPrefix(c.kind, "insert ") || c.kind == "other"
}

// RoundTrip takes the time of its way, lets happen what is to happen to the
// call, and shows it to the invariants before it acts.
func (l *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := callOf(req)
	if err != nil {
		return nil, err
	}
	w, ctx := l.process.w, req.Context()
	t := w.faults.next(compute, c.kind, l.process.name+" "+c.subject())
	w.calls.api(c, t.ailment != "" || w.endless())
	act := func(ctx context.Context) (*http.Response, error) { return l.act(ctx, req, c) }
	return befall(ctx, l.process, t, act, func() (*http.Response, error) { return distort(ctx, w, t, act) })
}

// act lets the call reach Compute.
func (l *wire) act(ctx context.Context, req *http.Request, c apiCall) (*http.Response, error) {
	w := l.process.w
	if c.changes() {
		w.check.before(l.process, c)
	}
	out := req.Clone(ctx)
	out.Body = io.NopCloser(bytes.NewReader(c.body))
	resp, err := l.next.RoundTrip(out)
	if c.changes() {
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		w.journal.note("%s: %s %s: %d", l.process.name, c.kind, c.object, status)
		w.check.after()
	}
	return resp, err
}

// befall makes a call: after its way, and with what goes wrong with it. At the
// end of the way the process may be killed. What is wrong with no call but
// those of other's kind is for other to do.
func befall[T any](ctx context.Context, p *process, t turn, act func(context.Context) (T, error), other func() (T, error)) (T, error) {
	w := p.w
	var none T
	if t.ailment != "" {
		w.journal.note("call %v: such calls %s", t.key, t.ailment)
		w.faults.suffered(t.goal)
		defer w.faults.suffered(t.goal)
	}
	lateness := func() time.Duration { return w.dice.span(time.Second, 25*time.Second, append(t.key, "late")...) }
	if t.ailment == slow {
		t.way += lateness()
	}
	if !sleep(ctx, t.way) {
		if t.ailment == "" && w.dice.oneIn(2, append(t.key, "sent")...) {
			w.processes.Go(func() { _, _ = act(w.ctx) }) // it was under way when its sender died
		}
		return none, ctx.Err()
	}
	if killed, acts := p.fatal(); killed {
		if acts {
			_, _ = act(ctx)
		}
		p.cancel()
		return none, errKilled
	}
	switch t.ailment {
	case "", slow:
		return act(ctx)
	case unsent:
		return none, errCut
	case unanswered:
		_, _ = act(ctx)
		return none, errCut
	case hung:
		if w.dice.oneIn(2, append(t.key, "acts")...) {
			_, _ = act(ctx)
		}
		<-ctx.Done()
		return none, ctx.Err()
	case lateAnswer:
		answer, err := act(ctx)
		if !sleep(ctx, lateness()) {
			return none, ctx.Err()
		}
		return answer, err
	}
	return other()
}

// refusals are the ailments that are an answer of Google's.
var refusals = map[ailment]struct {
	status int
	reason string
}{
	refused503:  {http.StatusServiceUnavailable, "backendError"},
	refused500:  {http.StatusInternalServerError, "internalError"},
	refused429:  {http.StatusTooManyRequests, "rateLimitExceeded"},
	rateLimited: {http.StatusForbidden, "rateLimitExceeded"},
	notAllowed:  {http.StatusForbidden, forbidden},
	notReady:    {http.StatusBadRequest, "resourceNotReady"},
}

// distort is what goes wrong with calls to Compute alone.
func distort(ctx context.Context, w *world, t turn, act func(context.Context) (*http.Response, error)) (*http.Response, error) {
	if r, refused := refusals[t.ailment]; refused {
		return answer(r.status, r.reason), nil
	}
	switch t.ailment {
	case gateway:
		return body(http.StatusBadGateway, "<html><title>502</title></html>"), nil
	case cutOff:
		resp, err := act(ctx)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return body(resp.StatusCode, string(text[:len(text)/2])), err
	case doubled:
		resp, err := act(ctx)
		w.processes.Go(func() {
			if sleep(w.ctx, w.dice.span(100*time.Millisecond, 20*time.Second, append(t.key, "again")...)) {
				_, _ = act(w.ctx)
			}
		})
		return resp, err
	}
	return nil, fmt.Errorf("nobody knows how calls %s", t.ailment)
}

// answer is a refusal in Google's form.
func answer(status int, reason string) *http.Response {
	const form = `{"error":{"code":%d,"message":%q,"errors":[{"message":%[2]q,"domain":"global","reason":%[3]q}]}}`
	return body(status, fmt.Sprintf(form, status, http.StatusText(status), reason))
}

func body(status int, text string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(strings.NewReader(text)),
	}
}

// sleep waits for d, or reports false as soon as ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
