// Package compare replays the calls of a transcript against the fake, and finds where the
// fake's answers differ from Compute's in status, shape or states.
package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
)

// Durations in the fake. catchUp exceeds the sum of the others, so every state is reached
// within it.
const (
	operationTime = time.Second
	queueTime     = 5 * time.Second
	attemptTime   = 5 * time.Second
	bootTime      = 20 * time.Second
	deleteTime    = 10 * time.Second
	catchUp       = 45 * time.Second
)

// Run replays a transcript against a new fake, prints each difference once, and then prints
// their number. The fake's clock moves only until the fake shows the transcript's states. If
// the fake never reaches a state, later differences may be consequences of that.
func Run(out io.Writer, h Header, exchanges []Exchange) (differences int, err error) {
	r, err := newReplay(out, h, exchanges)
	if err != nil {
		return 0, err
	}
	for i, e := range exchanges {
		r.place(i)
		if err := r.exchange(e); err != nil {
			return 0, fmt.Errorf("%s %s: %w", e.Verb, e.Path, err)
		}
	}
	fmt.Fprintf(out, "compare: exchanges: %d, differences: %d\n", len(exchanges), len(r.found))
	return len(r.found), nil
}

// replay is a transcript being replayed against a fake.
type replay struct {
	out        io.Writer
	server     *fakegce.Server
	operations map[string]string // the fake's operations by the transcript's
	zones      []string          // zone with room for the next machine, by exchange; empty: none
	room       string            // the zone that has room now
	found      map[string]bool   // differences already printed
	missed     map[string]bool   // states that the fake did not reach
}

var (
	zoneName      = regexp.MustCompile(`zones/([a-z]+-[a-z]+[0-9]+-[a-z])`)
	instanceLink  = regexp.MustCompile(`zones/([a-z0-9-]+)/instances/[a-z]`)
	failedAttempt = regexp.MustCompile(`"lastAttempt":\{"err`)
	templatePath  = regexp.MustCompile(`/(?:global|regions/([^/]+))/instanceTemplates/[^/]+$`)
)

func newReplay(out io.Writer, h Header, exchanges []Exchange) (*replay, error) {
	zones := map[string]bool{}
	r := &replay{
		out: out, operations: map[string]string{}, zones: make([]string, len(exchanges)),
		found: map[string]bool{}, missed: map[string]bool{},
	}
	next := ""
	for i, e := range slices.Backward(exchanges) {
		text := e.Path + string(e.Body) + string(e.Answer)
		for _, m := range zoneName.FindAllStringSubmatch(text, -1) {
			zones[m[1]] = true
		}
		if m := instanceLink.FindStringSubmatch(text); m != nil {
			next = m[1]
		} else if failedAttempt.MatchString(text) {
			next = ""
		}
		r.zones[i] = next
	}
	r.server = fakegce.New(fakegce.Options{
		Project: Project, Zones: slices.Collect(maps.Keys(zones)), Clock: fakegce.NewManualClock(h.Begun),
		OperationTime: operationTime, QueueTime: queueTime, AttemptInterval: attemptTime, BootTime: bootTime, DeleteTime: deleteTime,
	})
	r.server.SetCapacity("", "", 0)
	return r, r.addTemplate(exchanges)
}

// addTemplate adds the template that the transcript read to the fake.
func (r *replay) addTemplate(exchanges []Exchange) error {
	for _, e := range exchanges {
		m := templatePath.FindStringSubmatch(e.Path)
		if m == nil || e.Verb != http.MethodGet || e.Status != http.StatusOK {
			continue
		}
		spec := new(compute.InstanceTemplate)
		if err := json.Unmarshal(e.Answer, spec); err != nil {
			return fmt.Errorf("the transcript's template: %w", err)
		}
		_, err := r.server.AddTemplate(m[1], spec)
		return err
	}
	return errors.New("the transcript lacks an instance template, because its trial could not read one")
}

// place allows capacity only in the zone of the transcript's next machine. If the transcript shows
// a failed attempt before that machine, place allows no capacity until that attempt is over.
func (r *replay) place(i int) {
	if r.zones[i] == r.room {
		return
	}
	if r.room != "" {
		r.server.SetCapacity(r.room, "", 0)
	}
	if r.room = r.zones[i]; r.room != "" {
		r.server.SetCapacity(r.room, "", -1)
	}
}

// exchange sends one call and compares the answers.
func (r *replay) exchange(e Exchange) error {
	verb, name := e.Verb, operationOf(e.Path)
	if name != "" {
		known, ok := r.operations[name]
		if !ok {
			return nil // concerns a call that the fake refused: already reported
		}
		e.Path = strings.Replace(e.Path, name, known, 1)
		verb, e.Path = http.MethodGet, strings.TrimSuffix(e.Path, "/wait") // the clock does not move during a wait
	}
	status, fake, err := r.send(verb, e)
	if err != nil || e.Status == 0 { // the transcript has no answer
		return err
	}
	var was any
	if err := json.Unmarshal(e.Answer, &was); err != nil {
		return fmt.Errorf("the transcript's answer: %w", err)
	}
	what := e.Verb + " " + kindOf(e.Path)
	if name != "" || verb == http.MethodGet || path.Base(e.Path) == "listManagedInstances" {
		if status, fake, err = r.await(verb, e, was, status, fake); err != nil {
			return err
		}
		r.compareStates(what, was, fake)
	} else if from, to := operationName(was), operationName(fake); from != "" && to != "" {
		r.operations[from] = to
	}
	if status != e.Status {
		r.report(fmt.Sprintf("%s: status: the transcript has %d, the fake %d %s", what, e.Status, status, messageOf(fake)))
		return nil
	}
	for _, text := range shapeOf(was).differences(shapeOf(fake)) {
		r.report(what + ": " + text)
	}
	return nil
}

// send calls the fake.
func (r *replay) send(verb string, e Exchange) (status int, answer any, err error) {
	req := &http.Request{
		Method: verb, URL: &url.URL{Scheme: "http", Host: "fake", Path: e.Path, RawQuery: e.Query},
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(e.Body))),
	}
	resp, err := r.server.Transport().RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, answer, json.NewDecoder(resp.Body).Decode(&answer)
}

// await advances the clock until the fake shows the transcript's states or all durations have
// passed. It does not wait again for states that the fake failed to reach before.
func (r *replay) await(verb string, e Exchange, was any, status int, fake any) (int, any, error) {
	for waited := time.Duration(0); waited < catchUp && r.behind(kindOf(e.Path), was, fake); waited += time.Second {
		r.server.Advance(time.Second)
		var err error
		if status, fake, err = r.send(verb, e); err != nil {
			return 0, nil, err
		}
	}
	return status, fake, nil
}

// unequal returns the states that differ, as texts.
func unequal(was, fake any) (texts []string) {
	from, to := states(was), states(fake)
	for at, is := range from {
		if to[at] != is {
			texts = append(texts, fmt.Sprintf("state %s: the transcript has %s, the fake %s", at, is, orNone(to[at])))
		}
	}
	for at, is := range to {
		if _, ok := from[at]; !ok {
			texts = append(texts, fmt.Sprintf("state %s: the transcript lacks it, the fake %s", at, is))
		}
	}
	slices.Sort(texts)
	return texts
}

func orNone(state string) string {
	if state == "" {
		return "none"
	}
	return state
}

// behind reports whether the fake's states differ, ignoring states that it failed to reach
// before.
func (r *replay) behind(kind string, was, fake any) bool {
	return slices.ContainsFunc(unequal(was, fake), func(text string) bool { return !r.missed[kind+text] })
}

func (r *replay) compareStates(what string, was, fake any) {
	_, kind, _ := strings.Cut(what, " ")
	for _, text := range unequal(was, fake) {
		r.missed[kind+text] = true
		r.report(what + ": " + text)
	}
}

// report prints a difference, unless it was printed before.
func (r *replay) report(text string) {
	if !r.found[text] {
		r.found[text] = true
		fmt.Fprintln(r.out, text)
	}
}

// operationOf returns the operation that a path names, or "".
func operationOf(at string) string {
	dir, last := path.Split(strings.TrimSuffix(at, "/wait"))
	if path.Base(dir) == "operations" {
		return last
	}
	return ""
}

// operationName returns the name of an answer that is an operation, or "".
func operationName(answer any) string {
	fields, _ := answer.(map[string]any)
	if fields["kind"] != "compute#operation" {
		return ""
	}
	return nameOf(answer)
}

// messageOf returns the message of an error answer.
func messageOf(answer any) string {
	fields, _ := answer.(map[string]any)
	err, _ := fields["error"].(map[string]any)
	message, _ := err["message"].(string)
	return message
}

// kindOf replaces each name in a path with a star.
func kindOf(at string) string {
	_, below, _ := strings.Cut(at, "/projects/"+Project+"/")
	parts := strings.Split(below, "/")
	for i, part := range parts {
		switch part {
		case "regions", "zones", "instanceGroupManagers", "resizeRequests", "instances", "instanceTemplates", "machineTypes", "operations":
			if i+1 < len(parts) {
				parts[i+1] = "*"
			}
		}
	}
	return strings.Join(parts, "/")
}
