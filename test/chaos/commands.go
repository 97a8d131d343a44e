package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/fakeslurm"
)

// errNoController is the error of commands while slurmctld does not answer.
var errNoController = fmt.Errorf("scontrol: Unable to contact slurm controller (connect failure): %w", scontrol.ErrNoController)

// commandTime is scontrol's time limit for a command.
const commandTime = 30 * time.Second

// commands runs a process's Slurm commands, and makes them fail according to the script.
type commands struct {
	process *process
	next    *fakeslurm.Cluster
}

// command runs one command on an object; kind is the command's name.
func command[T any](ctx context.Context, s *commands, kind, object string, do func(context.Context) (T, error)) (T, error) {
	var none T
	limited, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	t := s.process.w.faults.next(controller, kind, s.process.name+" "+object)
	answer, err := befall(limited, s.process, t, do, func() (T, error) {
		return none, fmt.Errorf("unknown ailment: commands %s", t.ailment)
	})
	if errors.Is(err, errCut) || limited.Err() != nil && ctx.Err() == nil {
		return none, fmt.Errorf("%s %s: %w", kind, object, scontrol.ErrNoController)
	}
	return answer, err
}

// change runs a command that changes something.
func change(ctx context.Context, s *commands, kind, object string, do func(context.Context) error) error {
	_, err := command(ctx, s, kind, object, func(ctx context.Context) (struct{}, error) {
		err := do(ctx)
		s.process.w.journal.note("%s: %s %s: %v", s.process.name, kind, object, err)
		return struct{}{}, err
	})
	return err
}

func (s *commands) Nodes(ctx context.Context) ([]slurm.Node, error) {
	s.process.w.check.pass(s.process)
	return list(ctx, s, "show nodes", s.next.Nodes, fakeslurm.PrintNodes, slurm.ParseNodes)
}

// mark separates the fields of a list. It is random for each command in production.
const mark = "4CE2ZJ5NCFLW5RRG3ECEKMBXCB"

func (s *commands) Jobs(ctx context.Context) ([]slurm.Job, error) {
	return list(ctx, s, "squeue", s.next.Jobs,
		func(jobs []slurm.Job) string { return fakeslurm.PrintJobs(jobs, mark) },
		func(text []byte) ([]slurm.Job, error) { return slurm.ParseSqueue(text, mark, false) })
}

func (s *commands) TaskJobs(ctx context.Context, addresses []string) ([]slurm.Job, error) {
	return list(ctx, s, "squeue -r", func(ctx context.Context) ([]slurm.Job, error) { return s.next.TaskJobs(ctx, addresses) },
		func(jobs []slurm.Job) string { return fakeslurm.PrintJobs(jobs, mark) },
		func(text []byte) ([]slurm.Job, error) { return slurm.ParseSqueue(text, mark, true) })
}

func (s *commands) ArrayThrottle(ctx context.Context, array uint32, task int) (int, error) {
	return command(ctx, s, "show job", fmt.Sprintf("%d_%d", array, task), func(ctx context.Context) (int, error) { return s.next.ArrayThrottle(ctx, array, task) })
}

func (s *commands) Allowances(ctx context.Context, enforced []string) (slurm.Allowances, error) {
	return command(ctx, s, "show licenses", "", func(ctx context.Context) (slurm.Allowances, error) { return s.next.Allowances(ctx, enforced) })
}

func (s *commands) Reservations(ctx context.Context) ([]slurm.Reservation, error) {
	return list(ctx, s, "show reservations", s.next.Reservations, fakeslurm.PrintReservations, slurm.ParseReservations)
}

// list runs a list command and parses its output.
func list[T any](
	ctx context.Context, s *commands, kind string,
	all func(context.Context) ([]T, error), printed func([]T) string, parse func([]byte) ([]T, error),
) ([]T, error) {
	return command(ctx, s, kind, "", func(ctx context.Context) ([]T, error) {
		things, err := all(ctx)
		if err != nil {
			return nil, err
		}
		return parse(s.process.w.rows.print(kind, printed(things)))
	})
}

// Config returns the cluster's slurm.conf with the test's user as SlurmUser.
func (s *commands) Config(ctx context.Context) (slurm.Config, error) {
	return command(ctx, s, "show config", "", func(ctx context.Context) (slurm.Config, error) {
		config, err := s.next.Config(ctx)
		if err != nil {
			return nil, err
		}
		ours := maps.Clone(config)
		ours["SlurmUser"] = fmt.Sprintf("slurm(%d)", os.Geteuid())
		return ours, nil
	})
}

// Controllers acts like scontrol ping, which answers even if no slurmctld does.
func (s *commands) Controllers(ctx context.Context) ([]slurm.Controller, error) {
	return command(ctx, s, "ping", "", func(context.Context) ([]slurm.Controller, error) {
		down := s.process.w.primaryDown.Load()
		return []slurm.Controller{{Role: "primary", Host: string(primary), Up: !down}, {Role: "backup", Host: string(backup), Up: true}}, nil
	})
}

func (s *commands) Partitions(ctx context.Context) ([]slurm.Partition, error) {
	return command(ctx, s, "show partitions", "", s.next.Partitions)
}

func (s *commands) JobRecords(ctx context.Context, jobs []uint32) ([]slurm.JobRecord, error) {
	jobs = slices.Compact(slices.Sorted(slices.Values(jobs)))
	return command(ctx, s, "show jobs", fmt.Sprint(jobs), func(ctx context.Context) ([]slurm.JobRecord, error) {
		records, err := s.next.JobRecords(ctx, jobs)
		if err != nil {
			return nil, err
		}
		return slurm.ParseJobRecords([]byte(fakeslurm.PrintJobRecords(records, mark)), mark, jobs)
	})
}

func (s *commands) UpdateNodes(ctx context.Context, names []string, c slurm.NodeChange) error {
	return change(ctx, s, "update nodes", slurm.Fold(names)+" "+c.State, func(ctx context.Context) error {
		s.process.w.check.update(s.process, names, c)
		return s.next.UpdateNodes(ctx, names, c)
	})
}

func (s *commands) CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error {
	return change(ctx, s, "create reservation", spec.Name, func(ctx context.Context) error {
		return s.next.CreateReservation(ctx, spec)
	})
}

func (s *commands) SetReservation(ctx context.Context, name string, to slurm.ReservationChange) error {
	return change(ctx, s, "update reservation", fmt.Sprintf("%s %+v", name, to), func(ctx context.Context) error {
		s.process.w.check.reservation(name)
		return s.next.SetReservation(ctx, name, to)
	})
}

func (s *commands) DeleteReservation(ctx context.Context, name string) error {
	return change(ctx, s, "delete reservation", name, func(ctx context.Context) error {
		s.process.w.check.reservation(name)
		return s.next.DeleteReservation(ctx, name)
	})
}

// say runs a command on a job that takes a text.
func (s *commands) say(ctx context.Context, kind string, job uint32, text string, do func(context.Context, uint32, string) error) error {
	return change(ctx, s, kind, fmt.Sprint(job), func(ctx context.Context) error { return do(ctx, job, text) })
}

func (s *commands) SetAdminComment(ctx context.Context, job uint32, text string) error {
	return s.say(ctx, "set the admin comment of", job, text, s.next.SetAdminComment)
}

func (s *commands) NotifyJob(ctx context.Context, job uint32, text string) error {
	return s.say(ctx, "notify", job, text, s.next.NotifyJob)
}

func (s *commands) SignalJob(ctx context.Context, job uint32, signal string) error {
	return s.say(ctx, "signal", job, signal, s.next.SignalJob)
}

func (s *commands) RequeueJob(ctx context.Context, job uint32) error {
	return change(ctx, s, "requeue", fmt.Sprint(job), func(ctx context.Context) error {
		s.process.w.check.requeue(job)
		return s.next.RequeueJob(ctx, job)
	})
}

func (s *commands) HoldJob(ctx context.Context, job uint32) error {
	return change(ctx, s, "hold", fmt.Sprint(job), func(ctx context.Context) error { return s.next.HoldJob(ctx, job) })
}

func (s *commands) CancelJob(ctx context.Context, job uint32) error {
	return change(ctx, s, "cancel", fmt.Sprint(job), func(ctx context.Context) error {
		s.process.w.check.cancel(job)
		return s.next.CancelJob(ctx, job)
	})
}
