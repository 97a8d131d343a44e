package main

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// commandsOf returns a cluster and a client that uses Slurm's commands, as the daemon does.
func commandsOf(t *testing.T) (*slurmctld, *scontrol.Client) {
	t.Helper()
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, writeCommands(dir, listener.Addr()))
	now := func() time.Time { return noon }
	s := &slurmctld{model: fakeslurm.New(slurmOptions(now)), now: now}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve(listener)
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return s, &scontrol.Client{BinDir: dir, Timeout: 10 * time.Second}
}

func TestCommandsShowTheModel(t *testing.T) {
	s, commands := commandsOf(t)
	ctx := t.Context()
	_, err := s.model.Submit(fakeslurm.JobSpec{Partition: "gang", Nodes: 2, Limit: time.Hour, Run: time.Hour, User: "ada"})
	require.NoError(t, err)
	_, err = s.model.Submit(fakeslurm.JobSpec{Partition: "pool", Nodes: 1, Limit: time.Hour, Interactive: true})
	require.NoError(t, err)
	s.model.Step()
	comment, extra := "slurmflex: waits", "boots: 2"
	change := slurm.NodeChange{State: "power_down_force", Reason: "no capacity", Comment: &comment, Extra: &extra}
	require.NoError(t, commands.UpdateNodes(ctx, []string{"alpha-each-0", "alpha-each-1"}, change))
	require.NoError(t, commands.CreateReservation(ctx, slurm.ReservationSpec{Name: "slurmflex-alpha-1", Nodes: []string{"alpha-base-0"}, Start: noon, Lasts: 10 * time.Minute, Maint: true}))
	require.NoError(t, commands.SetAdminComment(ctx, 1, "flex-start: waiting"))

	same(t, s.model.Nodes, commands.Nodes)
	same(t, s.model.Jobs, commands.Jobs)
	same(t, s.model.Reservations, commands.Reservations)
	same(t, s.model.Partitions, commands.Partitions)
	records := func(from func(context.Context, []uint32) ([]slurm.JobRecord, error)) func(context.Context) ([]slurm.JobRecord, error) {
		return func(ctx context.Context) ([]slurm.JobRecord, error) { return from(ctx, []uint32{1, 2, 3}) }
	}
	same(t, records(s.model.JobRecords), records(commands.JobRecords))
	for _, ids := range [][]uint32{{1}, {1, 2}} {
		accounts, err := commands.Accounts(ctx, ids)
		require.NoError(t, err)
		assert.Empty(t, accounts)
	}
	config, err := commands.Config(ctx)
	require.NoError(t, err)
	assert.Equal(t, "65533 sec", config["ResumeTimeout"])
	controllers, err := commands.Controllers(ctx)
	require.NoError(t, err)
	assert.Equal(t, []slurm.Controller{{Role: "primary", Host: "localhost", Up: true}}, controllers)
}

// same asserts that the model and the commands return the same.
func same[T any](t *testing.T, model, commands func(context.Context) ([]T, error)) {
	t.Helper()
	want, err := model(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, want)
	got, err := commands(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestCommandsChangeTheModel(t *testing.T) {
	s, commands := commandsOf(t)
	ctx := t.Context()
	id, err := s.model.Submit(fakeslurm.JobSpec{Partition: "gang", Nodes: 2, Limit: time.Hour, Interactive: true})
	require.NoError(t, err)
	require.NoError(t, commands.NotifyJob(ctx, id, "wait"))
	require.NoError(t, commands.HoldJob(ctx, id))
	s.model.Step()
	assert.Equal(t, slurm.JobPending, s.model.JobState(id), "it is held")
	require.NoError(t, commands.CancelJob(ctx, id))
	assert.Equal(t, slurm.JobCancelled, s.model.JobState(id))
	require.ErrorIs(t, commands.HoldJob(ctx, 99), scontrol.ErrUnknownJob)

	require.NoError(t, commands.CreateReservation(ctx, slurm.ReservationSpec{Name: "r", Nodes: []string{"alpha-base-0"}, Start: noon, Lasts: 10 * time.Minute, Maint: true}))
	require.NoError(t, commands.SetReservation(ctx, "r", slurm.ReservationChange{Nodes: []string{"alpha-base-1"}, End: noon.Add(20 * time.Minute)}))
	reservations, err := s.model.Reservations(ctx)
	require.NoError(t, err)
	require.Len(t, reservations, 1)
	assert.Equal(t, []string{"alpha-base-1"}, reservations[0].Nodes)
	assert.Equal(t, noon.Add(20*time.Minute), reservations[0].End.UTC())
	require.NoError(t, commands.DeleteReservation(ctx, "r"))
	require.ErrorIs(t, commands.DeleteReservation(ctx, "r"), scontrol.ErrUnknownReservation)

	s.model.Down(errNoController)
	_, err = commands.Nodes(ctx)
	require.ErrorIs(t, err, scontrol.ErrNoController)
}

func TestUnansweredCommandIsKilled(t *testing.T) {
	s, commands := commandsOf(t)
	commands.Timeout = 300 * time.Millisecond
	s.mute.Store(1)
	_, err := commands.Nodes(t.Context())
	require.ErrorContains(t, err, "no answer within 300ms")
	_, err = commands.Nodes(t.Context())
	require.NoError(t, err, "only one was")
}

func TestUnknownCommandIsRejected(t *testing.T) {
	s, _ := commandsOf(t)
	err := must.Try(func() { s.run(t.Context(), "squeue", []string{"-h", "-o", "%A"}) })
	require.ErrorContains(t, err, "squeue -h -o %A: not known")
}
