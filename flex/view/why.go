package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxQuery is the longest question, in bytes.
const MaxQuery = 256

// ErrUnknown says that a question is about nothing that the view knows.
var ErrUnknown = errors.New("no such job, node or group")

// unknownError is an ErrUnknown that says what was asked and how to ask.
type unknownError string

func (e unknownError) Error() string { return string(e) }

func (e unknownError) Is(target error) bool { return target == ErrUnknown }

// Story answers why something is as it is, in three layers.
type Story struct {
	Envelope
	Subject string   `json:"subject"`
	Summary string   `json:"summary"`         // state, cause, since when, and what comes next
	Facts   []string `json:"facts"`           // the few facts that matter to the job's owner
	Details []string `json:"details"`         // earlier attempts, Google's whole error messages, recent actions
	Hosts   []Host   `json:"hosts"`           // of the machines, those near each other together
	Past    *Past    `json:"story,omitempty"` // nil unless it is asked for, or the job has ended

	now time.Time
}

// Sentences is the whole story, the summary first.
func (s Story) Sentences() []string { return slices.Concat([]string{s.Summary}, s.Facts, s.Details) }

// String is the story as text, without its details.
func (s Story) String() string { return s.Text(false) }

// Text is the story as text, with its details if verbose. Each sentence begins a
// line, and no line is longer than Width unless a word is.
func (s Story) Text(verbose bool) string {
	if !verbose {
		s.Details = nil
	}
	var text strings.Builder
	text.WriteString(s.Subject + ":\n")
	for _, sentence := range s.Sentences() {
		text.WriteString(wrap(sentence, "  ", Width))
	}
	if s.Past != nil {
		text.WriteString(s.Past.text(s.now))
	}
	return text.String()
}

// Why explains a job (812, 812_3, 812+1), a node or a group. Times are
// in the zone of now.
func (v View) Why(subject string, now time.Time) (Story, error) { return v.WhyWith(subject, now, nil) }

// WhyWith explains the same with what was recorded of the job, if anything was. It shows the end
// of a job that has left Slurm's queue.
func (v View) WhyWith(subject string, now time.Time, past *Past) (Story, error) {
	subject = strings.TrimSpace(subject)
	if subject == "" || len(subject) > MaxQuery {
		return Story{}, unknownError("give the number of a job, or the name of a node or group")
	}
	if past != nil {
		past = new(*past)
		past.Events = slices.Clone(past.Events)
	}
	t := &teller{View: v, now: now, story: Story{Envelope: EnvelopeOf("why"), Facts: []string{}, Details: []string{}, Hosts: []Host{}, Past: past, now: now}}
	group, _, _ := strings.Cut(subject, "/")
	job, isJob := parseNumber(subject)
	switch {
	case isJob:
		t.job(subject, job)
	case t.node(subject):
	case t.group(group):
	case strings.Contains(subject, ",") || strings.HasSuffix(subject, "]"): // as status shows nodes that wait together
		return Story{}, unknownError(fmt.Sprintf("%q names more than one; give one of them", Printable(subject)))
	default:
		return Story{}, unknownError(fmt.Sprintf("no job, node or group named %q%s", Printable(subject), v.butUnread()))
	}
	t.epilogue()
	t.story.Hosts = append(t.story.Hosts, v.hostsOf(t.machines())...)
	t.story.Summary = Printable(t.story.Summary)
	for _, layer := range [][]string{t.story.Facts, t.story.Details} {
		for i, s := range layer {
			layer[i] = Printable(s)
		}
	}
	return t.story, nil
}

// butUnread says which regions could not be read, where a group may be that is
// not known.
func (v View) butUnread() string {
	var names []string
	for _, r := range v.Regions {
		if r.ReadFail != "" {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, ", ") + " could not be read"
}

// teller gathers a story.
type teller struct {
	View
	now   time.Time
	story Story

	groups []string // that the story is about
	nodes  []string // likewise
	id     uint32   // likewise, 0: no job

	ends time.Time // of a lease, if that was said
}

func (t *teller) subject(format string, args ...any) {
	t.story.Subject = fmt.Sprintf(format, args...) + ", as of " + Moment(t.SeenAt, t.now) + t.now.Format(" MST")
}

// lead says what the story is about in a line. What comes after the first lead is
// a fact.
func (t *teller) lead(format string, args ...any) {
	if t.story.Summary == "" {
		t.story.Summary = fmt.Sprintf(format, args...)
		return
	}
	t.fact(format, args...)
}

// fact adds a fact, unless it was said.
func (t *teller) fact(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.story.Facts, text) {
		t.story.Facts = append(t.story.Facts, text)
	}
}

// detail adds what few people need, unless it was said.
func (t *teller) detail(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.story.Details, text) {
		t.story.Details = append(t.story.Details, text)
	}
}

// briefSize is how much of a long error is shown outside the details, in
// characters.
const briefSize = 120

// brief is an error in a few words. What it leaves out is in the details.
func (t *teller) brief(text string) string {
	text = sentence(text)
	if utf8.RuneCountInString(text) <= briefSize {
		return text
	}
	t.detail("The whole message: %s.", text)
	return Clip(text, briefSize)
}

// sentence is a text without its full stop.
func sentence(text string) string { return strings.TrimSuffix(strings.TrimSpace(text), ".") }

// at says when something was or will be.
func (t *teller) at(when time.Time) string { return Moment(when, t.now) }

// on says when something was or will be, and how far off that is.
func (t *teller) on(when time.Time) string {
	if when.After(t.SeenAt) {
		return t.at(when) + " (in " + t.until(when) + ")"
	}
	return t.at(when) + " (" + t.since(when) + " ago)"
}

// since says how long ago something was at the view's time.
func (t *teller) since(when time.Time) string { return Span(t.SeenAt.Sub(when)) }

// until says how far off something is at the view's time.
func (t *teller) until(when time.Time) string { return Span(when.Sub(t.SeenAt)) }

// shownActions is how many of the recent actions a story has.
const shownActions = 5

// epilogue says what holds for every story: what an admin should know of it,
// whether passes are made, and what was done last.
func (t *teller) epilogue() {
	for _, p := range t.Listed {
		if t.isAbout(p) && !slices.Contains(ofRows, p.Kind) {
			t.fact("For the admin: %s.", t.brief(p.Text))
		}
	}
	if trouble := t.Daemon.Says(); trouble != "" {
		t.fact("This information is from %s: %s.", t.on(t.SeenAt), sentence(trouble))
	}
	done := 0
	for _, a := range t.Actions {
		if !t.concerns(a) || done == shownActions {
			continue
		}
		if done == 0 {
			t.detail("Recent actions:")
		}
		done++
		t.detail("  %s", t.told(a))
	}
}

// told is one action of the past.
func (t *teller) told(a Action) string {
	text := t.at(a.At) + " " + a.What
	switch {
	case a.Error == "" && strings.Contains(a.What, a.Why):
		return text
	case a.Error == "":
		return text + ", because " + a.Why
	case a.Times > 1:
		return fmt.Sprintf("%s: failed %d times: %s", text, a.Times, a.Error)
	}
	return text + ": failed: " + a.Error
}

// ofRows are the kinds of problems that rows have as their obstacle or state, so that a story has
// them anyway.
var ofRows = []string{
	"request-failing", "request-failed", "request-refused", "group-name-taken", "name-taken", "template", "policies-unread", "placement",
	"provision-timeout", "gang-timeout", "lease-too-short", "machine-lost", "nodeset-blocked", "unseen-region", "unread-row",
}

// isAbout reports whether a problem is about a group, a node or the job of the story.
func (t *teller) isAbout(p Problem) bool {
	about := strings.FieldsFunc(p.About, func(r rune) bool { return r == ' ' || r == '/' })
	return slices.ContainsFunc(about, func(name string) bool {
		return slices.Contains(t.groups, name) || t.id != 0 && name == t.nameOf(t.id) ||
			slices.ContainsFunc(t.nodes, func(node string) bool { return holds(name, node) })
	})
}

// concerns reports whether an action was about the story's subject.
func (t *teller) concerns(a Action) bool {
	switch {
	case t.id != 0:
		return a.Job == t.id || slices.Contains(t.groups, a.Group)
	case a.Group != "" && slices.Contains(t.groups, a.Group):
		return true
	}
	return slices.ContainsFunc(t.nodes, func(node string) bool { return holds(a.Nodes, node) })
}

// groupsOf are the groups that were made for a job, also those of the past.
func (t *teller) groupsOf(job uint32) []string {
	var names []string
	for _, g := range t.Groups {
		if g.Job == job {
			names = append(names, g.Name)
		}
	}
	for _, r := range t.Rows {
		if slices.Contains(r.Jobs, job) && r.Group != "" {
			names = append(names, r.Group)
		}
	}
	for _, a := range t.Actions {
		if a.Job == job && a.Group != "" {
			names = append(names, a.Group)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sayUnread says which regions could not be read, so that what is not seen may
// exist after all; it reports whether there are any.
func (t *teller) sayUnread() bool {
	for _, r := range t.Regions {
		if r.ReadFail != "" {
			t.lead("The state of region %s is unknown, because it could not be read: %s.", r.Name, t.brief(r.ReadFail))
		}
	}
	return t.Unread()
}

// find returns the group of that name.
func (t *teller) find(group string) (Group, bool) {
	at := slices.IndexFunc(t.Groups, func(g Group) bool { return g.Name == group })
	if at < 0 {
		return Group{}, false
	}
	return t.Groups[at], true
}
