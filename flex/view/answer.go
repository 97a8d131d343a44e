package view

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Answer explains a job, a node, a nodeset or a group by fixed fields, each of one line. A field
// that does not apply is empty. The texts are printable.
type Answer struct {
	Envelope
	Subject  string    `json:"subject"` // for example job 812 (ada)
	SeenAt   time.Time `json:"seen_at"`
	State    string    `json:"state"`              // the state in capitals, and since when
	Cause    string    `json:"cause,omitempty"`    // the one cause of the state
	Request  string    `json:"request,omitempty"`  // what is requested, or will be
	Machines string    `json:"machines,omitempty"` // those that exist, since when, and their cost so far
	Ahead    string    `json:"ahead,omitempty"`    // what is requested before the job's nodes
	Estimate string    `json:"estimate,omitempty"` // of the remaining wait
	Next     string    `json:"next,omitempty"`     // what happens next, and when
	YouCan   string    `json:"you_can,omitempty"`  // what the reader can do about it
	// Details are earlier attempts, Google's whole error messages, problems and recent actions.
	Details []string `json:"details"`
	Past    *Past    `json:"story,omitempty"` // nil unless requested, or the job has ended

	now time.Time
}

// Field is a text with its name, for people.
type Field struct{ Name, Text string }

// Fields returns the fields that have a text, after the state.
func (a Answer) Fields() (fields []Field) {
	for _, f := range []Field{
		{"cause", a.Cause},
		{"request", a.Request},
		{"machines", a.Machines},
		{"ahead", a.Ahead},
		{"estimate", a.Estimate},
		{"next", a.Next},
		{"you can", a.YouCan},
	} {
		if f.Text != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// fieldWidth is the width of a field's name with the space around it.
const fieldWidth = 12

// Text formats the answer, with its details if verbose. No line is longer than Width, except for a
// longer word.
func (a Answer) Text(verbose bool) string {
	text := hang(a.Subject+"   ", a.State)
	for _, f := range a.Fields() {
		text += hang(fmt.Sprintf("  %-*s", fieldWidth-2, f.Name), f.Text)
	}
	if verbose {
		for _, detail := range a.Details {
			text += Wrap(detail, "  ", Width)
		}
	}
	if a.Past != nil {
		text += a.Past.text(a.now)
	}
	return text
}

// hang writes a text beside its head. Further lines start below the first one.
func hang(head, text string) string {
	indent := min(utf8.RuneCountInString(head), fieldWidth)
	lines := Wrap(text, strings.Repeat(" ", indent), Width-utf8.RuneCountInString(head)+indent)
	return head + strings.TrimLeft(lines, " ")
}

// print makes the texts printable.
func (a *Answer) print() {
	for _, text := range []*string{&a.Subject, &a.State, &a.Cause, &a.Request, &a.Machines, &a.Ahead, &a.Estimate, &a.Next, &a.YouCan} {
		*text = Printable(*text)
	}
	for i, detail := range a.Details {
		a.Details[i] = Printable(detail)
	}
}
