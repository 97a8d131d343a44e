package view

import (
	"fmt"
	"slices"
	"strings"
)

// group tells the story of a managed instance group, and reports whether
// anything is known of one of that name.
func (t *teller) group(name string) bool {
	t.groups = []string{name}
	if g, ok := t.find(name); ok {
		t.oneGroup(g)
		return true
	}
	known := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Group == name }) ||
		slices.ContainsFunc(t.Actions, func(a Action) bool { return a.Group == name })
	if !known {
		return false
	}
	t.subject("group %s", name)
	rows := t.rowsOf(name)
	if len(rows) == 0 && !t.sayUnread() {
		t.say("There is none any more, or not yet.")
	}
	for _, r := range rows {
		t.row(r)
	}
	return true
}

func (t *teller) rowsOf(group string) []Row {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return r.Group != group })
}

func (t *teller) oneGroup(g Group) {
	t.subject("group %s", g.Name)
	whose := "nodeset " + g.NodeSet
	if g.Job != 0 {
		whose = fmt.Sprintf("job %s, of %s", t.nameOf(g.Job), whose)
	} else if g.Node != "" {
		whose = fmt.Sprintf("node %s, of %s", g.Node, whose)
	}
	made := ""
	if !g.CreatedAt.IsZero() {
		made = " made at " + t.at(g.CreatedAt)
	}
	t.say("It is a managed instance group in %s,%s for %s.", g.Region, made, whose)
	for _, r := range g.Requests {
		if r.State == "SUCCEEDED" || r.State == "CANCELLED" {
			t.say("Request %s of %s, for %s, has %s.", r.Name, t.at(r.CreatedAt), r.Nodes, strings.ToLower(r.State))
		}
	}
	rows := t.rowsOf(g.Name)
	for _, r := range rows {
		t.row(r)
	}
	if len(rows) == 0 {
		t.earlier(Row{Group: g.Name})
		t.empty(g)
	}
}

// empty tells what becomes of a group that nothing is in and nothing is asked
// for.
func (t *teller) empty(g Group) {
	inQueue := slices.ContainsFunc(t.Jobs, func(j Job) bool { return j.ID == g.Job })
	if g.Job != 0 && inQueue {
		t.say("It is empty. Next: it stays while job %s is in the queue and its record of attempts counts, and is deleted then.", t.nameOf(g.Job))
		return
	}
	t.say("It is empty. Next: it is deleted in one of the next rounds.")
}
