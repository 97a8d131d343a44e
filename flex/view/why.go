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

// Why explains a job (812, 812_3, 812+1), a node, a nodeset or a group. Times are in the zone of now.
// past is the job's recorded history, if any. For a job that has left Slurm's queue, Why describes
// the end. It leaves out the history of an earlier job with the number of a job in the queue.
func (v View) Why(subject string, now time.Time, past *Past) (Answer, error) {
	subject = strings.TrimSpace(subject)
	if subject == "" || len(subject) > MaxQuery {
		return Answer{}, errors.New("give the number of a job, or the name of a node, nodeset or group")
	}
	if past != nil {
		past = new(*past)
		past.Events = slices.Clone(past.Events)
	}
	e := &explainer{View: v, Answer: Answer{Envelope: EnvelopeOf("why"), SeenAt: v.SeenAt, Details: []string{}, Past: past, now: now}}
	group, _, _ := strings.Cut(subject, "/")
	job, isJob := parseNumber(subject)
	switch {
	case isJob:
		e.job(subject, job)
	case e.node(subject), e.nodeSet(subject), e.group(group):
	// Status shows nodes that wait together like this.
	case strings.Contains(subject, ",") || strings.HasSuffix(subject, "]"):
		return Answer{}, fmt.Errorf("%q names more than one subject; choose one", Printable(subject))
	case len(v.setsOf(subject)) > 0:
		return Answer{}, fmt.Errorf("%s is a partition; choose one of its nodesets: %s", subject, strings.Join(namesOf(v.setsOf(subject)), ", "))
	default:
		return Answer{}, fmt.Errorf("no job, node, nodeset or group named %q%s", Printable(subject), v.butUnread())
	}
	if past := e.Past; past != nil && len(past.Events) > 0 {
		past.Use = past.use(now)
	}
	if v.Daemon == nil && e.Cause != v.inactive() {
		e.State += v.live()
	}
	if stopped := v.Daemon.Says(); stopped != "" && !strings.HasPrefix(e.Cause, stopped) {
		e.State += " (as of " + e.at(v.SeenAt) + ": " + e.brief(stopped) + ")"
	}
	for _, p := range v.Listed {
		if about, _, _ := strings.Cut(p.About, "/"); about == strings.Fields(e.Subject)[1] {
			e.detail("Problem: %s.", p.Text)
		}
	}
	e.Answer.print()
	return e.Answer, nil
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

// explainer fills in the fields of an answer.
type explainer struct {
	View   `json:"-"` // explainer is never written as JSON
	Answer `json:"-"`
}

// detail adds a detail, unless the answer already has it.
func (e *explainer) detail(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(e.Details, text) {
		e.Details = append(e.Details, text)
	}
}

// briefSize is how much of a long text is shown in a field, in characters.
const briefSize = 120

// brief shortens a text to a few words. The details show the whole text.
func (e *explainer) brief(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), ".")
	if utf8.RuneCountInString(text) <= briefSize {
		return text
	}
	e.detail("The whole message: %s.", text)
	return Clip(text, briefSize)
}

// at formats a past or future time.
func (e *explainer) at(when time.Time) string { return Moment(when, e.now) }

// on formats a future time and the time until then.
func (e *explainer) on(when time.Time) string {
	if when.After(e.View.SeenAt) {
		return e.at(when) + " (in " + Span(when.Sub(e.View.SeenAt)) + ")"
	}
	return e.at(when)
}

// since formats how long something has lasted; empty if its start is unknown.
func (e *explainer) since(start time.Time) string {
	if start.IsZero() {
		return ""
	}
	return " for " + Span(e.View.SeenAt.Sub(start))
}

// find returns the group of that name.
func (v View) find(group string) (Group, bool) {
	return first(v.Groups, func(g Group) bool { return g.Name == group })
}

// inactive returns why slurmflex does nothing now; empty if a daemon reconciles.
func (v View) inactive() string {
	if v.Daemon == nil {
		return "no daemon answers"
	}
	return v.Daemon.Says()
}

// unreadText states that a region could not be read; empty if it was.
func (v View) unreadText(region string) string {
	r := v.region(region)
	if r.ReadFail == "" {
		return ""
	}
	return fmt.Sprintf("region %s could not be read: %s", r.Name, strings.TrimSuffix(r.ReadFail, "."))
}
