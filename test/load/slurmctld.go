package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// errNoJob is the output of commands for a job that slurmctld does not know.
var errNoJob = errors.New("slurm_load_jobs: Invalid job id specified")

// command stands in for scontrol, squeue and scancel: it sends its name and its arguments to the
// model, prints the answer, and fails if the answer requires it.
const command = `#!/bin/bash
[ $# -gt 0 ] || set -- "$(cat)" # scontrol executes the lines of its input
exec 3<>/dev/tcp/%s/%s || exit 1
printf '%%s\0' $# "${0##*/}" "$@" >&3
read -r failed <&3
[ "$failed" = 0 ] && exec cat <&3
cat <&3 >&2
exit 1
`

// writeCommands writes Slurm's commands into a folder. The commands query an address.
func writeCommands(dir string, address net.Addr) error {
	host, port, err := net.SplitHostPort(address.String())
	for _, program := range []string{"scontrol", "squeue", "scancel"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, program), fmt.Appendf(nil, command, host, port), 0o700))
	}
	return err
}

// slurmctld answers the commands from the model.
type slurmctld struct {
	model *fakeslurm.Cluster
	looks atomic.Int32 // number of node reads
}

// serve answers until the listener is closed, and returns when all commands are answered.
func (s *slurmctld) serve(listener net.Listener) {
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		answers.Go(func() { s.answer(conn) })
	}
}

func (s *slurmctld) answer(conn net.Conn) {
	defer conn.Close()
	args, err := question(bufio.NewReader(conn))
	if err != nil {
		return // it was killed
	}
	text, status := "", "0\n"
	if err := must.Try(func() { text = s.run(context.Background(), args[0], args[1:]) }); err != nil {
		status, text = "1\n", "slurm error: "+err.Error()+"\n"
	} else if args[0] == "squeue" {
		text = "JOBID\n" + text
	}
	_, _ = io.WriteString(conn, status+text) // a client that has gone needs no answer
}

// question reads a command's name and arguments, which follow their number.
func question(in *bufio.Reader) ([]string, error) {
	var more int
	if _, err := fmt.Fscanf(in, "%d\x00", &more); err != nil {
		return nil, err
	}
	words := make([]string, more+1)
	for i := range words {
		word, err := in.ReadString(0)
		if err != nil {
			return nil, err
		}
		words[i] = strings.TrimSuffix(word, "\x00")
	}
	return words, nil
}

// run executes a command.
func (s *slurmctld) run(ctx context.Context, program string, args []string) string {
	for len(args) > 0 && program == "scontrol" && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) == 0 {
		must.Do(fmt.Errorf("%s: nothing to do", program))
	}
	if strings.Contains(args[0], "\n") {
		for line := range strings.Lines(args[0]) {
			s.run(ctx, program, strings.Fields(line))
		}
		return ""
	}
	last := args[len(args)-1]
	switch verb := program + " " + args[0]; {
	case program == "squeue" && strings.HasSuffix(last, slurm.JobAddressFormat):
		records := must.Get(s.model.JobRecords(ctx, asked(args)))
		if len(records) == 0 {
			return ""
		}
		return fmt.Sprintf("%d|%[1]d\n", records[0].ID)
	case program == "squeue" && slices.Contains(args, "-O"):
		return s.records(ctx, args)
	case program == "squeue":
		before, _, known := strings.Cut(last, "<%")
		if !known {
			must.Do(fmt.Errorf("squeue %s: not known", strings.Join(args, " ")))
		}
		mark := before[strings.LastIndex(before, "|")+1:]
		jobs := must.Get(s.model.Jobs(ctx))
		if slices.Contains(args, "PENDING") {
			jobs = slices.DeleteFunc(jobs, func(j slurm.Job) bool { return j.State != slurm.JobPending })
		}
		return fakeslurm.PrintJobs(jobs, mark)
	case program == "scancel":
		must.Do(s.model.CancelJob(ctx, jobID(last)))
	case verb == "scontrol ping":
		return "Slurmctld(primary) at localhost is UP\n"
	case verb == "scontrol show":
		return s.show(ctx, args[1], args[2:])
	case verb == "scontrol hold":
		must.Do(s.model.HoldJob(ctx, jobID(last)))
	case verb == "scontrol notify":
		must.Do(s.model.NotifyJob(ctx, jobID(args[1]), last))
	case slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "reservationname=") }):
		must.Do(s.model.Scontrol(ctx, strings.Join(args, " ")))
	default:
		must.Do(s.change(ctx, args[0], settings(args[1:])))
	}
	return ""
}

// asked returns the job ids that squeue is asked for; empty: all.
func asked(args []string) (ids []uint32) {
	if at := slices.Index(args, "-j"); at > 0 {
		for id := range strings.SplitSeq(args[at+1], ",") {
			ids = append(ids, jobID(id))
		}
	}
	return ids
}

func (s *slurmctld) show(ctx context.Context, what string, which []string) string {
	switch what {
	case "nodes":
		nodes := must.Get(s.model.Nodes(ctx))
		if len(which) == 0 {
			s.looks.Add(1)
			return fakeslurm.PrintNodes(nodes)
		}
		names := must.Get(slurm.Expand(which[0]))
		return fakeslurm.PrintNodes(slices.DeleteFunc(nodes, func(n slurm.Node) bool { return !slices.Contains(names, n.Name) }))
	case "reservation":
		return fakeslurm.PrintReservations(must.Get(s.model.Reservations(ctx)))
	case "partition":
		return partitionsText(must.Get(s.model.Partitions(ctx)))
	case "licenses":
		return "No licenses configured in Slurm.\n"
	case "config":
		config := must.Get(s.model.Config(ctx))
		config["SlurmUser"] = fmt.Sprintf("slurm(%d)", os.Geteuid())
		return configText(config)
	}
	must.Do(fmt.Errorf("scontrol show %s: not known", what))
	return ""
}

// records prints one job, or all jobs.
func (s *slurmctld) records(ctx context.Context, args []string) string {
	_, format, _ := strings.Cut(args[slices.Index(args, "-O")+1], "|")
	mark, _, _ := strings.Cut(format, "|")
	ids := asked(args)
	if len(ids) == 0 {
		for _, j := range must.Get(s.model.Jobs(ctx)) {
			ids = append(ids, j.ID)
		}
	}
	records := must.Get(s.model.JobRecords(ctx, ids))
	if len(records) == 0 && slices.Contains(args, "-j") {
		must.Do(errNoJob)
	}
	return fakeslurm.PrintJobRecords(records, mark)
}

// change applies an update with settings.
func (s *slurmctld) change(ctx context.Context, verb string, set map[string]string) error {
	switch {
	case verb != "update":
		return fmt.Errorf("scontrol %s: invalid keyword", verb)
	case set["jobid"] != "":
		return s.model.SetAdminComment(ctx, jobID(set["jobid"]), set["admincomment"])
	}
	change := slurm.NodeChange{State: set["state"], Reason: set["reason"]}
	if comment, there := set["comment"]; there {
		change.Comment = &comment
	}
	if extra, there := set["extra"]; there {
		change.Extra = &extra
	}
	return s.model.UpdateNodes(ctx, must.Get(slurm.Expand(set["nodename"])), change)
}

// settings parses arguments such as state=resume into a map; a word without =, such as reservation,
// has no value.
func settings(args []string) map[string]string {
	set := map[string]string{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		set[key] = value
	}
	return set
}

func jobID(text string) uint32 {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		must.Do(errNoJob)
	}
	return uint32(id)
}

func partitionsText(partitions []slurm.Partition) string {
	share := map[bool]string{true: "EXCLUSIVE", false: "NO"}
	idle := map[bool]string{true: "YES", false: "NO"}
	var out strings.Builder
	for _, p := range partitions {
		fmt.Fprintf(&out, "PartitionName=%s AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL QoS=N/A RootOnly=NO ReqResv=NO "+
			"MaxMemPerNode=UNLIMITED MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=%s OverSubscribe=%s State=UP PowerDownOnIdle=%s\n",
			p.Name, slurm.Fold(p.Nodes), share[p.Exclusive], idle[p.PowerDownOnIdle])
	}
	return out.String()
}

func configText(config slurm.Config) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Configuration data as of %s\n", time.Now().UTC().Format("2006-01-02T15:04:05"))
	for _, key := range slices.Sorted(maps.Keys(config)) {
		fmt.Fprintf(&out, "%-24s= %s\n", key, config[key])
	}
	return out.String()
}
