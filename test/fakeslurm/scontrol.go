package fakeslurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// Scontrol runs an scontrol command line that creates, updates or deletes a reservation, or
// that sets a job's reservation. jobid= takes a job id or an array task (7_2). Scontrol
// refuses keys, flags and times that the model does not support.
func (c *Cluster) Scontrol(ctx context.Context, line string) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	verb, rest, _ := strings.Cut(line, " ")
	said, err := c.parse(strings.TrimPrefix(rest, "reservation "))
	if err != nil {
		return refuse("scontrol "+line, err.Error(), nil)
	}
	name := said.fields["reservationname"]
	switch {
	case verb == "create":
		return c.create(said.reservation(name, time.Now()), said.nodes, "reservationname="+name)
	case verb == "delete":
		return c.deleteReservation(name)
	case verb == "update" && said.fields["jobid"] != "":
		return c.useReservation(said.fields["jobid"], name)
	case verb == "update":
		return c.updateReservation(name, said)
	}
	return refuse("scontrol "+line, "Invalid request", nil)
}

// words holds the parsed words of a command line.
type words struct {
	fields   map[string]string
	nodes    []string // nodes=, nodes+= or nodes-=
	operator string   // "=", "+=" or "-=" of nodes
	start    time.Time
	end      time.Time // endtime=, of an update
	lasts    time.Duration
	mode     mode
	purge    time.Duration
}

// parse reads key=value words.
func (c *Cluster) parse(line string) (*words, error) {
	w := &words{fields: map[string]string{}}
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		bare := strings.TrimRight(key, "+-")
		w.fields[bare] = value
		var err error
		switch bare {
		case "nodes":
			w.operator = strings.TrimPrefix(key, bare) + "="
			w.nodes, err = slurm.Expand(value)
		case "starttime":
			w.start, err = parseTime(value, time.Now())
		case "endtime":
			w.end, err = parseTime(value, time.Now())
		case "duration":
			w.lasts, err = parseDuration(value)
		case "flags":
			w.mode, w.purge, err = parseFlags(value)
		case "reservationname", "users", "jobid":
		default:
			err = fmt.Errorf("the model does not know %s=", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// parseTime reads now, now+SECONDS and utsSECONDS.
func parseTime(text string, now time.Time) (time.Time, error) {
	if seconds, found := strings.CutPrefix(text, "now"); found {
		added, err := strconv.Atoi("0" + strings.TrimPrefix(seconds, "+"))
		return now.Add(time.Duration(added) * time.Second), err
	}
	unix, err := strconv.ParseInt(strings.TrimPrefix(text, "uts"), 10, 64)
	return time.Unix(unix, 0).UTC(), err
}

// parseDuration reads minutes, and infinite.
func parseDuration(text string) (time.Duration, error) {
	if text == "infinite" {
		return year, nil
	}
	minutes, err := strconv.Atoi(text)
	return time.Duration(minutes) * time.Minute, err
}

// parseFlags reads a list of flags.
func parseFlags(text string) (flags mode, purge time.Duration, err error) {
	known := map[string]mode{"maint": maint, "overlap": overlap, "ignore_jobs": ignoreJobs, "no_hold_jobs_after": noHold}
	for word := range strings.SplitSeq(text, ",") {
		minutes, purges := strings.CutPrefix(word, "purge_comp=")
		flag, found := known[word]
		switch {
		case purges:
			purge, err = parseDuration(minutes)
		case found:
			flags |= flag
		default:
			err = fmt.Errorf("the model does not know the flag %s", word)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return flags, purge, nil
}

// reservation builds the reservation to create.
func (w *words) reservation(name string, now time.Time) *reservation {
	r := &reservation{name: name, start: w.start, user: w.fields["users"], mode: w.mode, purge: w.purge}
	if r.start.IsZero() {
		r.start = now
	}
	r.end = r.start.Add(w.lasts)
	return r
}

// updateReservation changes a reservation's nodes, adds flags, or moves the start of a reservation
// that has not started.
func (c *Cluster) updateReservation(name string, said *words) error {
	call := "scontrol update reservationname=" + name
	r := c.reservation(name)
	switch {
	case r == nil:
		return refuse(call, "Requested reservation is invalid", scontrol.ErrUnknownReservation)
	case said.operator != "" && said.operator != "=" && c.habits.wholeNodeLists:
		return refuse(call, "+=/-= notation is not supported when updating nodes", nil)
	}
	if said.operator != "" {
		if err := c.setNodes(r, said.list(names(r.nodes)), call); err != nil {
			return err
		}
	}
	r.mode |= said.mode
	return c.setTimes(r, said, call)
}

// list applies nodes=, nodes+= or nodes-= to a reservation's node names.
func (w *words) list(has []string) []string {
	switch w.operator {
	case "+=":
		return slices.Concat(has, w.nodes)
	case "-=":
		return slices.DeleteFunc(has, func(name string) bool { return slices.Contains(w.nodes, name) })
	}
	return w.nodes
}
