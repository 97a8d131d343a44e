// Package notify runs the site's program for events: machines are granted, a job runs, a machine is
// lost, and so on. It keeps no state on disk. The first observation is the baseline, so a daemon
// that has just started reports nothing that it finds.
package notify

import (
	"os"
	"strconv"
	"time"

	"slurmflex/config"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// Event is something that has happened to a job or a nodeset.
type Event struct {
	Kind    string    // one of config.Events
	At      time.Time // when the pass saw it
	Job     slurm.Job // ID 0: the event is about a nodeset
	NodeSet string    // empty: unknown
	Nodes   []string
	Text    string // what happened, for people
}

// event returns the event of a new fact.
func (f fact) event(now time.Time) Event {
	e := Event{Kind: f.kind, At: now, Nodes: f.nodes, Text: f.text}
	if f.set != nil {
		e.NodeSet = f.set.Name
	}
	switch f.kind {
	case config.MachinesGranted:
		e.Text = "has all its machines: " + slurm.Fold(f.nodes)
	case config.JobRunning:
		e.Text = "runs on " + slurm.Fold(f.nodes)
	}
	if f.job != nil {
		e.Job, e.Text = *f.job, "job "+f.job.Name()+": "+e.Text
	}
	return e
}

// id returns the raw id of the event's job, or the name of its nodeset.
func (e Event) id() string {
	if e.Job.ID == 0 {
		return e.NodeSet
	}
	return strconv.FormatUint(uint64(e.Job.ID), 10)
}

// name returns the job as squeue shows it, or the name of the nodeset.
func (e Event) name() string {
	if e.Job.ID == 0 {
		return e.NodeSet
	}
	return e.Job.Name()
}

// longest is the maximum number of characters of a value in the program's environment.
const longest = 2000

// environment returns the program's whole environment. All names are always set. Values are on one
// line, printable and short, because users and Google write parts of them.
func (e Event) environment(cluster string) []string {
	job, id := "", ""
	if e.Job.ID != 0 {
		job, id = e.name(), e.id()
	}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
	if conf := os.Getenv("SLURM_CONF"); conf != "" {
		env = append(env, "SLURM_CONF="+conf)
	}
	for _, v := range [][2]string{
		{"CLUSTER", cluster},
		{"EVENT", e.Kind},
		{"TIME", e.At.UTC().Format(time.RFC3339)},
		{"JOB_ID", id},
		{"JOB", job},
		{"USER", e.Job.User},
		{"PARTITION", e.Job.Partition},
		{"NODESET", e.NodeSet},
		{"NODES", slurm.Fold(e.Nodes)},
		{"TEXT", e.Text},
	} {
		env = append(env, "SLURMFLEX_"+v[0]+"="+view.Clip(view.Printable(v[1]), longest))
	}
	return env
}
