package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// ambush is trouble for the next job that moves to kept machines, at a step of its move.
type ambush struct {
	at    moveStep
	what  mischief
	lasts time.Duration // for which a daemon that is killed is away
}

// moveStep is a command of a move.
type moveStep string

// The steps, in their order.
const (
	reserves moveStep = "reserves machines for"
	names    moveStep = "names the reservation of"
	begins   moveStep = "starts"
)

// mischief is what happens to a job that moves.
type mischief string

// What may happen.
const (
	killedBefore mischief = "the daemon is killed before it"
	killedAfter  mischief = "the daemon is killed after it"
	rival        mischief = "another job gets there before it"
	loses        mischief = "one of the machines vanishes before it"
	leaves       mischief = "the job is cancelled before it"
)

func moveSteps() []moveStep { return []moveStep{reserves, names, begins} }

func mischiefs() []mischief {
	return []mischief{killedBefore, killedAfter, rival, loses, leaves}
}

func (e ambush) String() string {
	text := fmt.Sprintf("when the daemon next %s a job that moves, %s", e.at, e.what)
	if e.what == killedBefore || e.what == killedAfter {
		text += fmt.Sprintf(", and started %v later", e.lasts)
	}
	return text
}

func (e ambush) strike(w *world, _ int) { w.moves.lieInWait(e) }

// spring has the ambush meet a step of a job's move to nodes.
func (e ambush) spring(w *world, job uint32, nodes []string) {
	w.journal.note("ambush: %s job %d to %s: %s", e.at, job, slurm.Fold(nodes), e.what)
	switch e.what {
	case killedBefore, killedAfter:
		kill{0, e.what == killedAfter, e.lasts}.strike(w, 0)
	case rival:
		spec := fakeslurm.JobSpec{
			Partition: setOf(nodes[0]).name, Nodes: 1, Limit: 15 * time.Minute, Run: 5 * time.Minute, Priority: 1000, User: "user",
		}
		id, err := w.slurm.Submit(spec)
		w.journal.note("submitted a rival as %d: %v", id, err)
		w.slurm.Step()
	case loses:
		if in, there := w.state().Instance(nodes[0]); there && in.Status == "RUNNING" {
			must.Do(w.cloud.DeleteVM(nodes[0]))
			w.watch.take(nodes[0])
		}
	case leaves:
		w.watch.note(w.watch.excused, job)
		w.journal.note("cancel %d: %v", job, w.slurm.Cancel(job))
	}
}

// moving is a step of a move that a command is.
func (s *commands) moving(at moveStep, job uint32, nodes []string) {
	if e, met := s.process.w.moves.meet(at, job, nodes); met && s.process == s.process.w.main.running() {
		e.spring(s.process.w, job, nodes)
	}
}

func (s *commands) ReserveForJob(ctx context.Context, spec slurm.JobReservationSpec) error {
	moves := &s.process.w.moves
	hold := memo.ParseHold(cluster, spec.Name)
	job := hold.Job
	s.moving(reserves, job, spec.Nodes)
	return change(ctx, s, "create reservation", spec.Name, func(ctx context.Context) error {
		err := s.next.ReserveForJob(ctx, spec)
		switch {
		case err == nil && hold.Kind == memo.SalvageHold:
			s.process.w.salvages.begin(s.process.w, job, slices.Concat(spec.Nodes, spec.Held))
		case err == nil:
			moves.begin(job, spec.Nodes)
		case hold.Kind != memo.SalvageHold && strings.Contains(err.Error(), "busy"):
			moves.busy()
		}
		return err
	})
}

func (s *commands) SetJobReservation(ctx context.Context, job uint32, name string) error {
	if nodes := s.process.w.moves.to(job); name != "" && nodes != nil {
		s.moving(names, job, nodes)
	}
	return change(ctx, s, "set the reservation of", fmt.Sprint(job, " ", name), func(ctx context.Context) error {
		return s.next.SetJobReservation(ctx, job, name)
	})
}

func (s *commands) SetReservationOf(ctx context.Context, address, name string) error {
	return change(ctx, s, "set the reservation of", address+" "+name, func(ctx context.Context) error {
		return s.next.SetReservationOf(ctx, address, name)
	})
}

func (s *commands) StartNow(ctx context.Context, job uint32, limit time.Duration) error {
	if nodes := s.process.w.moves.to(job); nodes != nil {
		s.moving(begins, job, nodes)
	}
	return change(ctx, s, "start now", fmt.Sprint(job), func(ctx context.Context) error { return s.next.StartNow(ctx, job, limit) })
}
