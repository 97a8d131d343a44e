package estimate

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/flex/view"
)

// Report is the output of the command. Durations are in seconds.
type Report struct {
	view.Envelope
	Cluster   string   `json:"cluster"`
	Estimates []Answer `json:"estimates"`
	Bad       int      `json:"unread_lines"` // of the history

	short bool // for people, only estimates
}

// Answer is the estimate for one nodeset.
type Answer struct {
	Job       string `json:"job,omitempty"` // the waiting job, as squeue shows it
	Partition string `json:"partition,omitempty"`
	NodeSet   string `json:"nodeset"`
	Nodes     int    `json:"nodes"`                    // that arrive together
	Waited    int64  `json:"waited_seconds,omitempty"` // since the machines were requested

	*view.Estimate // nil: too few past requests

	shared bool // by other jobs
}

// String returns the report for people: a line for each nodeset.
func (r Report) String() string {
	var b strings.Builder
	for _, a := range r.Estimates {
		if !r.short || a.Estimate != nil {
			fmt.Fprintln(&b, a)
		}
	}
	if r.Bad > 0 && !r.short {
		fmt.Fprintf(&b, "%s of the history could not be read\n", view.Count(r.Bad, "line"))
	}
	return b.String()
}

// String returns the answer in one line.
func (a Answer) String() string {
	subject := "partition " + a.Partition
	if a.Job != "" {
		subject = "job " + a.Job
	}
	text := fmt.Sprintf("%s, nodeset %s, %s", subject, a.NodeSet, view.Count(a.Nodes, "node"))
	if a.shared {
		text += ", shared request"
	}
	if a.Waited > 0 {
		text += ", waiting for " + view.Span(time.Duration(a.Waited)*time.Second)
	}
	switch {
	case a.Estimate == nil:
		return text + ": too few past requests for an estimate"
	case a.Waited > 0:
		return text + ": remaining wait: " + a.Estimate.String()
	}
	return text + ": wait: " + a.Estimate.String()
}
