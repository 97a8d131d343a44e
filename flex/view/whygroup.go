package view

import (
	"fmt"
	"slices"
)

// group explains a managed instance group, and reports whether anything is known about a group of
// that name.
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
		t.lead("There is no such group: it was deleted, or does not exist yet.")
	}
	for _, r := range rows {
		t.row(r)
	}
	t.soFar(rows)
	return true
}

func (t *teller) rowsOf(group string) []Row {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return r.Group != group })
}

func (t *teller) oneGroup(g Group) {
	t.subject("group %s", g.Name)
	whose := "nodeset " + g.NodeSet
	switch {
	case g.Job != 0:
		whose = fmt.Sprintf("job %s (nodeset %s)", t.nameOf(g.Job), g.NodeSet)
	case g.Array != 0:
		whose = fmt.Sprintf("tasks of array %d (nodeset %s)", g.Array, g.NodeSet)
	case g.User != "":
		whose = fmt.Sprintf("one-node jobs of user %s (nodeset %s)", g.User, g.NodeSet)
	case g.Node != "":
		whose = fmt.Sprintf("node %s (nodeset %s)", g.Node, g.NodeSet)
	}
	made := ""
	if !g.CreatedAt.IsZero() {
		made = " created at " + t.on(g.CreatedAt)
	}
	rows := t.rowsOf(g.Name)
	for _, r := range rows {
		t.row(r)
	}
	t.soFar(rows)
	if len(rows) == 0 {
		t.earlier(Row{Group: g.Name})
		t.empty(g)
	}
	t.fact("Managed instance group in %s,%s for %s.", g.Region, made, whose)
	for _, r := range g.Requests {
		switch r.State {
		case "SUCCEEDED":
			t.fact("Request %s, made at %s for %s, succeeded.", r.Name, t.on(r.CreatedAt), r.Nodes)
		case "CANCELLED":
			t.fact("Request %s, made at %s for %s, was cancelled.", r.Name, t.on(r.CreatedAt), r.Nodes)
		}
	}
}

// empty explains what happens to a group without machines and live requests.
func (t *teller) empty(g Group) {
	inQueue := slices.ContainsFunc(t.Jobs, func(j Job) bool { return j.ID == g.Job })
	if g.Job != 0 && inQueue {
		t.lead("It is empty. It stays while job %s is in the queue and its record of attempts counts, and is deleted then.", t.nameOf(g.Job))
		return
	}
	t.lead("It is empty, and is deleted in one of the next reconcile passes.")
}
