package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

// What commands say while slurmctld does not answer, and of a job that it does
// not know.
var (
	errNoController = errors.New("slurm_load: Unable to contact slurm controller (connect failure)")
	errNoJob        = errors.New("slurm_load_jobs: Invalid job id specified")
)

// slurmctld answers the commands that slurmcommand hands over, for the model.
type slurmctld struct {
	model *fakeslurm.Cluster
	now   func() time.Time
	mute  atomic.Int32 // how many of the next commands are left without an answer, until they are killed
}

// serve answers until the listener is closed, and returns when all that were
// asked are answered.
func (s *slurmctld) serve(listener *net.UnixListener) {
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		answers.Go(func() { s.answer(conn) })
	}
}

func (s *slurmctld) answer(conn *net.UnixConn) {
	defer conn.Close()
	question, err := io.ReadAll(conn)
	if err != nil {
		return // it was killed
	}
	if s.mute.Load() > 0 && s.mute.Add(-1) >= 0 {
		s.hang(conn)
		return
	}
	args := strings.Split(string(question), "\x00")
	text, err := s.run(context.Background(), args[0], args[1:])
	status := "\x00"
	if err != nil {
		status, text = "\x01", "slurm error: "+err.Error()
	}
	_, _ = io.WriteString(conn, status+text) // whoever has gone needs no answer
}

// hang keeps a command waiting until it is killed: nobody takes its answer then.
func (s *slurmctld) hang(conn *net.UnixConn) {
	for {
		time.Sleep(100 * time.Millisecond)
		if _, err := conn.Write([]byte{0}); err != nil {
			return
		}
	}
}

// run does what a command says.
func (s *slurmctld) run(ctx context.Context, program string, args []string) (string, error) {
	for len(args) > 0 && program == "scontrol" && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) == 0 {
		return "", fmt.Errorf("%s: nothing to do", program)
	}
	last := args[len(args)-1]
	switch verb := program + " " + args[0]; {
	case program == "squeue" && strings.HasSuffix(last, slurm.JobAddressFormat):
		return s.address(ctx, args)
	case program == "squeue" && slices.Contains(args, "-O"):
		return s.records(ctx, args)
	case program == "squeue":
		jobs, err := s.model.Jobs(ctx)
		return fakeslurm.PrintJobs(jobs), err
	case program == "scancel":
		id, err := jobID(last)
		if err != nil {
			return "", err
		}
		return "", s.model.CancelJob(ctx, id)
	case verb == "scontrol ping":
		return "Slurmctld(primary) at localhost is UP\n", nil
	case verb == "scontrol show":
		return s.show(ctx, args[1:])
	case verb == "scontrol hold", verb == "scontrol notify":
		return "", s.toJob(ctx, args)
	default:
		return "", s.change(ctx, args[0], settings(args[1:]))
	}
}

// address answers with the address of a job that squeue knows.
func (s *slurmctld) address(ctx context.Context, args []string) (string, error) {
	for i, arg := range args[:len(args)-1] {
		if arg != "-j" {
			continue
		}
		id, err := jobID(args[i+1])
		if err != nil {
			return "", err
		}
		records, err := s.model.JobRecords(ctx, []uint32{id})
		if err != nil || len(records) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d|%[1]d\n", id), nil
	}
	return "", errors.New("squeue: no job is named")
}

func (s *slurmctld) show(ctx context.Context, args []string) (string, error) {
	switch args[0] {
	case "nodes":
		nodes, err := s.model.Nodes(ctx)
		return fakeslurm.PrintNodes(nodes), err
	case "reservation":
		reservations, err := s.model.Reservations(ctx)
		return fakeslurm.PrintReservations(reservations), err
	case "partition":
		partitions, err := s.model.Partitions(ctx)
		return partitionsText(partitions), err
	case "config":
		config, err := s.model.Config(ctx)
		if err != nil {
			return "", err
		}
		config["SlurmUser"] = fmt.Sprintf("slurm(%d)", os.Geteuid())
		return slurmConfText(config, s.now()), nil
	}
	return "", fmt.Errorf("scontrol show %s: not known", args[0])
}

// records answers for one job, or for all.
func (s *slurmctld) records(ctx context.Context, args []string) (string, error) {
	_, format, _ := strings.Cut(args[slices.Index(args, "-O")+1], "|")
	mark, _, _ := strings.Cut(format, "|")
	var ids []uint32
	if at := slices.Index(args, "-j"); at > 0 {
		id, err := jobID(args[at+1])
		if err != nil {
			return "", err
		}
		ids = []uint32{id}
	} else {
		jobs, err := s.model.Jobs(ctx)
		if err != nil {
			return "", err
		}
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
	}
	records, err := s.model.JobRecords(ctx, ids)
	if err == nil && len(records) == 0 && slices.Contains(args, "-j") {
		err = errNoJob
	}
	return fakeslurm.PrintJobRecords(records, mark), err
}

// toJob is a verb, a job, and perhaps a text.
func (s *slurmctld) toJob(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("scontrol %s: no job", args[0])
	}
	id, err := jobID(args[1])
	if err != nil {
		return err
	}
	if args[0] == "hold" {
		return s.model.HoldJob(ctx, id)
	}
	return s.model.NotifyJob(ctx, id, args[len(args)-1])
}

// change is create, update or delete, with settings.
func (s *slurmctld) change(ctx context.Context, verb string, set map[string]string) error {
	nodes, err := slurm.Expand(set["nodes"] + set["nodename"])
	if err != nil {
		return err
	}
	reservation := set["reservationname"]
	switch {
	case verb == "create":
		start, err := strconv.ParseInt(strings.TrimPrefix(set["starttime"], "uts"), 10, 64)
		if err != nil {
			return err
		}
		return s.model.CreateReservation(ctx, slurm.ReservationSpec{Name: reservation, Nodes: nodes, Start: time.Unix(start, 0).UTC()})
	case verb == "delete":
		return s.model.DeleteReservation(ctx, reservation)
	case verb != "update":
		return fmt.Errorf("scontrol %s: invalid keyword", verb)
	case reservation != "":
		return s.model.SetReservationNodes(ctx, reservation, nodes)
	case set["jobid"] != "":
		id, err := jobID(set["jobid"])
		if err != nil {
			return err
		}
		return s.model.SetAdminComment(ctx, id, set["admincomment"])
	}
	change := slurm.NodeChange{State: set["state"], Reason: set["reason"]}
	if comment, there := set["comment"]; there {
		change.Comment = &comment
	}
	if extra, there := set["extra"]; there {
		change.Extra = &extra
	}
	return s.model.UpdateNodes(ctx, nodes, change)
}

// settings are arguments such as state=resume by key; a word alone, such as
// reservation, has no value.
func settings(args []string) map[string]string {
	set := map[string]string{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		set[key] = value
	}
	return set
}

func jobID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, errNoJob
	}
	return uint32(id), nil
}
