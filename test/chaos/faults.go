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
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// goal is the recipient of a call.
type goal string

// The goals. program stands for slurmflex itself, which is not always running.
const (
	compute    goal = "Compute"
	controller goal = "slurmctld"
	program    goal = "slurmflex"
)

// faults holds the present faults of calls.
type faults struct {
	dice dice

	mu     sync.Mutex
	caught []caught
	counts map[string]count // calls so far, by kind and object
	sick   map[goal]time.Time
}

// count is the number of calls of a kind. Calls at the same instant count as one.
type count struct {
	n    int
	last time.Time
}

// caught is a sickness in effect.
type caught struct {
	no    int // number of the event that caused it
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

// turn is one call: its identity, its travel time and its ailment.
type turn struct {
	goal    goal
	key     []any
	way     time.Duration
	ailment ailment // "" for none
}

// next decides about a call. It numbers the calls of a kind on an object, so that each is
// decided by its own draw. Calls at the same instant share a number, because nothing
// distinguishes them.
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

// suffered records a failed call to a goal.
func (a *faults) suffered(of goal) {
	defer locked(&a.mu)()
	if a.sick == nil {
		a.sick = map[goal]time.Time{}
	}
	a.sick[of] = time.Now()
}

// well reports whether no call to these goals has failed since then, and none can fail now.
func (a *faults) well(since time.Time, goals ...goal) bool {
	defer locked(&a.mu)()
	for _, of := range goals {
		if !a.sick[of].Before(since) || slices.ContainsFunc(a.caught, func(c caught) bool { return c.goal == of }) {
			return false
		}
	}
	return true
}

// errKilled is the result of a killed process's call. No code sees it.
var errKilled = errors.New("the process was killed")

// errCut is the error of a broken connection.
var errCut = fmt.Errorf("connection reset: %w", io.ErrUnexpectedEOF)

// wire carries a process's calls to Compute, and makes them fail according to the script.
type wire struct {
	process *process
	next    http.RoundTripper
}

// apiKinds lists the product's calls: a kind, and patterns of the verb and path.
var apiKinds = []struct {
	kind     string
	patterns []string
}{
	{"list groups", []string{"GET regions/*/instanceGroupManagers"}},
	{"create group", []string{"POST regions/*/instanceGroupManagers"}},
	{"delete group", []string{"DELETE regions/*/instanceGroupManagers/*"}},
	{"delete instances", []string{"POST regions/*/*/*/deleteInstances"}},
	{"list members", []string{"POST regions/*/*/*/listManagedInstances"}},
	{"list requests", []string{"GET regions/*/*/*/resizeRequests"}},
	{"create request", []string{"POST regions/*/*/*/resizeRequests"}},
	{"cancel request", []string{"POST regions/*/*/*/resizeRequests/*/cancel"}},
	{"delete request", []string{"DELETE regions/*/*/*/resizeRequests/*"}},
	{"list instances", []string{"GET aggregated/instances", "GET zones/*/instances"}},
	{"insert instances", []string{"POST */*/instances/bulkInsert"}},
	{"delete instance", []string{"DELETE zones/*/instances/*"}},
	{"list policies", []string{"GET regions/*/resourcePolicies"}},
	{"create policy", []string{"POST regions/*/resourcePolicies"}},
	{"delete policy", []string{"DELETE regions/*/resourcePolicies/*"}},
	{"wait", []string{"POST */*/operations/*/wait"}},
	{"read template", []string{"GET global/instanceTemplates/*", "GET regions/*/instanceTemplates/*"}},
	{"read region", []string{"GET regions/*"}},
	{"list operations", []string{"GET zones/*/operations", "GET regions/*/operations"}},
}

// apiCalls returns the kinds of calls that a sickness may affect.
func apiCalls() (kinds []string) {
	for _, k := range apiKinds {
		kinds = append(kinds, k.kind)
	}
	return kinds
}

func callOf(r *http.Request) (apiCall, error) {
	c := apiCall{kind: "other", object: strings.TrimPrefix(r.URL.Path, "/compute/v1/projects/"+project+"/")}
	for _, k := range apiKinds {
		if slices.ContainsFunc(k.patterns, func(pattern string) bool { is, _ := path.Match(pattern, r.Method+" "+c.object); return is }) {
			c.kind = k.kind
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

// subject returns the call's path and the name of what it creates. The name distinguishes two
// calls at the same instant.
func (c apiCall) subject() string {
	var made struct {
		Name                  string
		PerInstanceProperties map[string]any
	}
	if err := json.Unmarshal(c.body, &made); err != nil {
		return c.object // no body, or an invalid one
	}
	return strings.Join(append([]string{c.object, made.Name}, slices.Sorted(maps.Keys(made.PerInstanceProperties))...), " ")
}

// changes reports whether the call changes something.
func (c apiCall) changes() bool {
	return strings.HasPrefix(c.kind, "create ") || strings.HasPrefix(c.kind, "delete ") ||
		strings.HasPrefix(c.kind, "cancel ") || strings.HasPrefix(c.kind, "insert ") || c.kind == "other"
}

// RoundTrip delays the call, applies its ailment, and shows the call to the invariants before
// it takes effect.
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

// act sends the call to Compute.
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

// befall makes a call: it waits for the travel time and then applies the ailment. The process
// may be killed after the travel time. other handles the ailments that only one kind of call
// can have.
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
			w.processes.Go(func() { _, _ = act(w.ctx) }) // the call was sent before its sender died
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

// refusals maps ailments to error answers of Google.
var refusals = map[ailment]struct {
	status  int
	reason  string
	message string
}{
	refused401:  {http.StatusUnauthorized, "authError", "Request had invalid authentication credentials."},
	refused503:  {http.StatusServiceUnavailable, "backendError", "Service Unavailable"},
	refused500:  {http.StatusInternalServerError, "internalError", "Internal Server Error"},
	refused429:  {http.StatusTooManyRequests, "rateLimitExceeded", "Too Many Requests"},
	rateLimited: {http.StatusForbidden, "rateLimitExceeded", "Rate Limit Exceeded"},
	notAllowed:  {http.StatusForbidden, forbidden, "Permission denied on resource project."},
	notReady:    {http.StatusBadRequest, "resourceNotReady", "The resource is not ready"},
}

// distort applies the ailments of calls to Compute.
func distort(ctx context.Context, w *world, t turn, act func(context.Context) (*http.Response, error)) (*http.Response, error) {
	if r, refused := refusals[t.ailment]; refused {
		return answer(r.status, r.reason, r.message), nil
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
	return nil, fmt.Errorf("unknown ailment: calls %s", t.ailment)
}

// answer returns an error in Google's format.
func answer(status int, reason, message string) *http.Response {
	const form = `{"error":{"code":%d,"message":%q,"errors":[{"message":%[2]q,"domain":"global","reason":%[3]q}]}}`
	return body(status, fmt.Sprintf(form, status, message, reason))
}

func body(status int, text string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(strings.NewReader(text)),
	}
}

// sleep waits for d. It returns false as soon as ctx ends.
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
