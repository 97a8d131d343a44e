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

// ErrUnknown is the error for a question about something that the view does not contain.
var ErrUnknown = errors.New("no such job, node or group")

// unknownError is an ErrUnknown that names the question and how to ask.
type unknownError string

func (e unknownError) Error() string { return string(e) }

func (e unknownError) Is(target error) bool { return target == ErrUnknown }

// Story explains the state of something in three layers.
type Story struct {
	Envelope
	Subject string   `json:"subject"`
	Summary string   `json:"summary"` // state, cause, start, and what follows
	Facts   []string `json:"facts"`   // the few facts that matter to the job's owner
	// Details are earlier attempts, Google's whole error messages, and recent actions.
	Details []string `json:"details"`
	Past    *Past    `json:"story,omitempty"` // nil unless requested, or the job has ended

	now time.Time
}

// Sentences returns the whole story, summary first.
func (s Story) Sentences() []string { return slices.Concat([]string{s.Summary}, s.Facts, s.Details) }

// String formats the story without its details.
func (s Story) String() string { return s.Text(false) }

// Text formats the story, with its details if verbose. Each sentence starts a line. No line is
// longer than Width, except for a longer word.
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

// Answer formats the story for a terminal. Unless it is verbose, it names the command that prints
// the details too.
func (s Story) Answer(verbose bool, command string) string {
	text := s.Text(verbose)
	if !verbose && len(s.Details) > 0 {
		text += "For more: " + command + "\n"
	}
	return text
}

// UseOf returns one line with how long the job waited and ran. It fails without a record of the job.
func (s Story) UseOf(job string) (string, error) {
	if s.Past == nil || s.Past.Use == nil {
		return "", fmt.Errorf("nothing is recorded of %q; give the number of a job that the daemon has seen in the last day or that the history has", Printable(job))
	}
	return fmt.Sprintf("job %s: %s\n", s.Past.Job.Name(), s.Past.Use), nil
}

// Why explains a job (812, 812_3, 812+1), a node or a group. Times are
// in the zone of now.
func (v View) Why(subject string, now time.Time) (Story, error) { return v.WhyWith(subject, now, nil) }

// WhyWith explains a subject like Why, and uses the job's recorded history, if any. For a job that
// has left Slurm's queue, it describes the end. It leaves out the history of an earlier job with the
// number of a job in the queue.
func (v View) WhyWith(subject string, now time.Time, past *Past) (Story, error) {
	subject = strings.TrimSpace(subject)
	if subject == "" || len(subject) > MaxQuery {
		return Story{}, unknownError("give the number of a job, or the name of a node or group")
	}
	if past != nil {
		past = new(*past)
		past.Events = slices.Clone(past.Events)
	}
	t := &teller{View: v, now: now, story: Story{Envelope: EnvelopeOf("why"), Facts: []string{}, Details: []string{}, Past: past, now: now}}
	group, _, _ := strings.Cut(subject, "/")
	job, isJob := parseNumber(subject)
	switch {
	case isJob:
		t.job(subject, job)
	case t.node(subject):
	case t.group(group):
	// Status shows nodes that wait together like this.
	case strings.Contains(subject, ",") || strings.HasSuffix(subject, "]"):
		return Story{}, unknownError(fmt.Sprintf("%q names more than one subject; choose one", Printable(subject)))
	default:
		return Story{}, unknownError(fmt.Sprintf("no job, node or group named %q%s", Printable(subject), v.butUnread()))
	}
	if past := t.story.Past; past != nil && len(past.Events) > 0 {
		past.Use = past.use(now)
	}
	t.epilogue()
	t.story.Summary = Printable(t.story.Summary)
	for _, layer := range [][]string{t.story.Facts, t.story.Details} {
		for i, s := range layer {
			layer[i] = Printable(s)
		}
	}
	return t.story, nil
}

// butUnread names the regions that could not be read and may contain an unknown group.
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

// teller collects a story.
type teller struct {
	View
	now   time.Time
	story Story

	groups []string // groups that the story is about
	nodes  []string // nodes that the story is about
	id     uint32   // job that the story is about; 0: none

	ends time.Time // lease end, once the story mentions it
}

func (t *teller) subject(format string, args ...any) {
	t.story.Subject = fmt.Sprintf(format, args...) + ", as of " + Moment(t.SeenAt, t.now) + t.now.Format(" MST") + t.live()
}

// lead states the subject of the story in one line. Further leads become facts.
func (t *teller) lead(format string, args ...any) {
	if t.story.Summary == "" {
		t.story.Summary = fmt.Sprintf(format, args...)
		return
	}
	t.fact(format, args...)
}

// fact adds a fact, unless the story already has it.
func (t *teller) fact(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.story.Facts, text) {
		t.story.Facts = append(t.story.Facts, text)
	}
}

// detail adds a detail that few people need, unless the story already has it.
func (t *teller) detail(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.story.Details, text) {
		t.story.Details = append(t.story.Details, text)
	}
}

// briefSize is how much of a long error is shown outside the details, in characters.
const briefSize = 120

// brief shortens an error to a few words. The details show the whole error.
func (t *teller) brief(text string) string {
	text = sentence(text)
	if utf8.RuneCountInString(text) <= briefSize {
		return text
	}
	t.detail("The whole message: %s.", text)
	return Clip(text, briefSize)
}

// sentence returns a text without its full stop.
func sentence(text string) string { return strings.TrimSuffix(strings.TrimSpace(text), ".") }

// at formats a past or future time.
func (t *teller) at(when time.Time) string { return Moment(when, t.now) }

// on formats a past or future time and the time until then.
func (t *teller) on(when time.Time) string {
	if when.After(t.SeenAt) {
		return t.at(when) + " (in " + t.until(when) + ")"
	}
	return t.at(when) + " (" + t.since(when) + " ago)"
}

// since returns how long ago something was at the view's time.
func (t *teller) since(when time.Time) string { return Span(t.SeenAt.Sub(when)) }

// until returns how far away something is at the view's time.
func (t *teller) until(when time.Time) string { return Span(when.Sub(t.SeenAt)) }

// shownActions is the number of recent actions in a story.
const shownActions = 5

// epilogue adds what belongs in every story: problems for an admin, whether passes are made, and
// recent actions.
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

// told describes a past action.
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

// ofRows lists the kinds of problems that rows show as their obstacle or state, so that a story
// includes them anyway.
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

// groupsOf returns the groups that were created for a job, including deleted groups.
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

// sayUnread names the regions that could not be read and may contain things missing from the view.
// It reports whether there are any.
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
