package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxQuery is the longest question, in bytes.
const MaxQuery = 256

// ErrUnknown says that a question is about nothing that the view knows.
var ErrUnknown = errors.New("nothing is known of it")

// Story answers why something is as it is, in sentences.
type Story struct {
	Subject   string   `json:"subject"`
	Sentences []string `json:"sentences"`
}

// String is the story as text. Each sentence begins a line, and no line is
// longer than Width unless a word is.
func (s Story) String() string {
	var text strings.Builder
	text.WriteString(s.Subject + ":\n")
	for _, sentence := range s.Sentences {
		text.WriteString(wrap(sentence, "  ", Width))
	}
	return text.String()
}

// Why tells the story of a job (812, 812_3, 812+1), a node or a group. Times are
// told in the zone of now.
func (v View) Why(subject string, now time.Time) (Story, error) {
	subject = strings.TrimSpace(subject)
	if subject == "" || len(subject) > MaxQuery {
		return Story{}, fmt.Errorf("%w; give the number of a job, the name of a node, or of a group", ErrUnknown)
	}
	t := &teller{View: v, now: now}
	group, _, _ := strings.Cut(subject, "/")
	job, isJob := parseNumber(subject)
	switch {
	case isJob:
		t.job(subject, job)
	case t.node(subject):
	case t.group(group):
	case strings.Contains(subject, ",") || strings.HasSuffix(subject, "]"): // as status shows nodes that wait together
		return Story{}, fmt.Errorf("%w: %q is several; ask for one of them", ErrUnknown, Printable(subject))
	default:
		return Story{}, fmt.Errorf("%w: %q; give the number of a job, the name of a node, or of a group, as slurmflex status shows them",
			ErrUnknown, Printable(subject))
	}
	t.epilogue()
	for i, s := range t.story.Sentences {
		t.story.Sentences[i] = Printable(s)
	}
	return t.story, nil
}

// teller tells a story.
type teller struct {
	View
	now   time.Time
	story Story

	groups []string // that the story is about
	nodes  []string // likewise
	id     uint32   // likewise, 0: no job
}

func (t *teller) subject(format string, args ...any) {
	t.story.Subject = fmt.Sprintf(format, args...) + ", as seen at " + Moment(t.SeenAt, t.now) + t.now.Format(" MST")
}

func (t *teller) say(format string, args ...any) {
	t.story.Sentences = append(t.story.Sentences, fmt.Sprintf(format, args...))
}

// at says when something was or will be.
func (t *teller) at(when time.Time) string { return Moment(when, t.now) }

// since says how long ago something was at the view's time.
func (t *teller) since(when time.Time) string { return Span(t.SeenAt.Sub(when)) }

// until says how far off something is at the view's time.
func (t *teller) until(when time.Time) string { return Span(when.Sub(t.SeenAt)) }

// epilogue says what holds for every story: what an admin should know of it,
// what was done last, and whether the rounds go on.
func (t *teller) epilogue() {
	for _, p := range t.Problems {
		if t.isAbout(p) && !t.says(p) {
			t.say("For the admin: %s.", strings.TrimSuffix(p, "."))
		}
	}
	done := 0
	for _, a := range t.Actions {
		if !t.concerns(a) || done == 5 {
			continue
		}
		if done == 0 {
			t.say("What slurmflex did last about it:")
		}
		done++
		t.say("  %s", t.told(a))
	}
	if trouble := t.Rounds.Says(); trouble != "" {
		t.say("All this is as of %s, for %s.", t.at(t.SeenAt), trouble)
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

// isAbout reports whether a problem names a group or node of the story.
func (t *teller) isAbout(problem string) bool {
	words := strings.FieldsFunc(problem, func(r rune) bool { return strings.ContainsRune(" :,;/", r) })
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains(t.groups, word) || slices.Contains(t.nodes, word)
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

// sayUnread says which regions could not be read, so that what is not seen may be
// there all the same; it reports whether there are any.
func (t *teller) sayUnread() bool {
	for _, r := range t.Regions {
		if r.ReadFail != "" {
			t.say("What is in region %s is not known, for it could not be read: %s.", r.Name, strings.TrimSuffix(r.ReadFail, "."))
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
