package scontrol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// spec returns a valid reservation.
func spec() slurm.ReservationSpec {
	return slurm.ReservationSpec{Name: "alpha-eol-1900000000", Nodes: []string{"f1", "f0", "f5"}, Start: time.Unix(1900000000, 999), Lasts: 10 * time.Minute, Maint: true}
}

func TestReservationsAreCreatedChangedAndDeleted(t *testing.T) {
	c := newClient(t, dummy{})
	require.NoError(t, c.CreateReservation(t.Context(), spec()))
	require.NoError(t, c.SetReservation(t.Context(), spec().Name, slurm.ReservationChange{Nodes: []string{"f2", "f1"}}))
	require.NoError(t, c.SetReservation(t.Context(), spec().Name, slurm.ReservationChange{Nodes: []string{"f2", "f1"}, End: time.Unix(1900000600, 0)}))
	require.NoError(t, c.DeleteReservation(t.Context(), spec().Name))
	made := calls(t, c)
	require.Len(t, made, 4)
	require.Equal(t, []string{
		"scontrol", "create", "reservation", "reservationname=alpha-eol-1900000000", "nodes=f[0-1,5]",
		"starttime=uts1900000000", "duration=10", "users=root", "flags=maint,ignore_jobs",
	}, made[0].Args)
	require.Equal(t, []string{"scontrol", "update", "reservationname=alpha-eol-1900000000", "nodes=f[1-2]"}, made[1].Args)
	require.Equal(t, []string{"scontrol", "update", "reservationname=alpha-eol-1900000000", "nodes=f[1-2]", "endtime=uts1900000600"}, made[2].Args)
	require.Equal(t, []string{"scontrol", "delete", "reservationname=alpha-eol-1900000000"}, made[3].Args)
}

func TestReservationsOfJobsThatWaitPending(t *testing.T) {
	c := newClient(t, dummy{})
	cover := slurm.ReservationSpec{Name: "slurmflex-alpha.cover-1900000000", Nodes: []string{"f1", "f0"}, Purge: 6 * time.Minute}
	require.NoError(t, c.CreateReservation(t.Context(), cover))
	require.NoError(t, c.SetReservation(t.Context(), cover.Name, slurm.ReservationChange{Purge: 66 * time.Minute}))
	door := slurm.ReservationSpec{Name: "slurmflex-alpha.door-7_2-1900000000", Nodes: []string{"f0"}, Start: time.Unix(1900000300, 0), User: "ann", Purge: 5 * time.Minute}
	require.NoError(t, c.CreateReservation(t.Context(), door))
	require.NoError(t, c.SetReservationOf(t.Context(), "7_2", door.Name))
	require.NoError(t, c.SetReservation(t.Context(), door.Name, slurm.ReservationChange{Start: time.Unix(1900000100, 0)}))
	require.NoError(t, c.SetReservationOf(t.Context(), "7_2", ""))
	rest := slurm.ReservationSpec{Name: "slurmflex-alpha.rest-1900000000", Nodes: []string{"f0"}, Lasts: 5 * time.Minute}
	require.NoError(t, c.CreateReservation(t.Context(), rest))
	made := calls(t, c)
	for i, want := range [][]string{
		{"create", "reservation", "reservationname=" + cover.Name, "nodes=f[0-1]", "starttime=now", "duration=infinite", "users=root", "flags=ignore_jobs,overlap,no_hold_jobs_after,purge_comp=6"},
		{"update", "reservationname=" + cover.Name, "flags+=purge_comp=66"},
		{"create", "reservation", "reservationname=" + door.Name, "nodes=f0", "starttime=uts1900000300", "duration=infinite", "users=ann", "flags=overlap,no_hold_jobs_after,purge_comp=5"},
		{"update", "jobid=7_2", "reservationname=" + door.Name},
		{"update", "reservationname=" + door.Name, "starttime=uts1900000100"},
		{"update", "jobid=7_2", "reservationname="},
		{"create", "reservation", "reservationname=" + rest.Name, "nodes=f0", "starttime=now", "duration=5", "users=root", "flags=ignore_jobs,overlap"},
	} {
		require.Equal(t, append([]string{"scontrol"}, want...), made[i].Args)
	}
	require.Error(t, c.SetReservationOf(t.Context(), "7,8", door.Name))
	require.Error(t, c.SetReservationOf(t.Context(), "7", "a b"))
}

func TestReservationsForUsersOfADirectory(t *testing.T) {
	door := slurm.ReservationSpec{Name: "slurmflex-alpha.door-7-1900000000", Nodes: []string{"f0"}, Start: time.Unix(1900000300, 0), Purge: 5 * time.Minute}
	for _, door.User = range []string{"ann", "ann@example.com", `EXAMPLE\ann`, "EXAMPLE+ann", "svc$", "Jörg Doe"} {
		c := newClient(t, dummy{})
		require.NoError(t, c.CreateReservation(t.Context(), door))
		require.Contains(t, calls(t, c)[0].Args, "users="+door.User)
	}
	for _, door.User = range []string{"ann,bob", "-ann", "+ann", "ann\nbob"} {
		c := newClient(t, dummy{})
		require.ErrorIs(t, c.CreateReservation(t.Context(), door), slurm.ErrUserUnknown)
		require.Empty(t, calls(t, c))
	}
}

func TestInvalidReservationsAreRefused(t *testing.T) {
	const badName = " is not 1 to 100 letters, digits, dots, dashes and underscores"
	for _, test := range []struct {
		name  string
		spoil func(*slurm.ReservationSpec)
		want  string
	}{
		{"no name", func(s *slurm.ReservationSpec) { s.Name = "" }, `name ""` + badName},
		{"a name with a space", func(s *slurm.ReservationSpec) { s.Name = "a b" }, `name "a b"` + badName},
		{"two names", func(s *slurm.ReservationSpec) { s.Name = "a,b" }, `name "a,b"` + badName},
		{"a name like an option", func(s *slurm.ReservationSpec) { s.Name = "-a" }, `name "-a"` + badName},
		{"no nodes", func(s *slurm.ReservationSpec) { s.Nodes = nil }, "alpha-eol-1900000000: no nodes"},
		{"all nodes of the cluster", func(s *slurm.ReservationSpec) { s.Nodes = []string{"ALL"} }, `alpha-eol-1900000000: "ALL" is not the name of one node`},
		{"a hostlist", func(s *slurm.ReservationSpec) { s.Nodes = []string{"f[0-1]"} }, `alpha-eol-1900000000: "f[0-1]" is not the name of one node`},
		{"no start", func(s *slurm.ReservationSpec) { s.Start = time.Time{} }, "no start"},
		{"no end", func(s *slurm.ReservationSpec) { s.Lasts = 0 }, "no end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, dummy{})
			bad := spec()
			test.spoil(&bad)
			require.EqualError(t, c.CreateReservation(t.Context(), bad), "create reservation: "+test.want)
			if bad.Name != spec().Name {
				require.EqualError(t, c.DeleteReservation(t.Context(), bad.Name), "delete reservation: "+test.want)
			}
			if bad.Start.Equal(spec().Start) && bad.Lasts > 0 {
				require.EqualError(t, c.SetReservation(t.Context(), bad.Name, slurm.ReservationChange{Nodes: bad.Nodes}), "update reservation: "+test.want)
			}
			require.Empty(t, calls(t, c))
		})
	}
}

// The texts are those of 22.05.8 and 24.11.5.
func TestSlurmErrorsAboutReservationsAreRecognised(t *testing.T) {
	create := func(c *Client) error { return c.CreateReservation(t.Context(), spec()) }
	set := func(c *Client) error {
		return c.SetReservation(t.Context(), "eol-x", slurm.ReservationChange{Nodes: []string{"f0"}})
	}
	remove := func(c *Client) error { return c.DeleteReservation(t.Context(), "eol-x") }
	for _, test := range []struct {
		name   string
		do     func(*Client) error
		stderr string
		want   error
	}{
		{"the name is taken", create, "Error creating the reservation: Duplicate reservation name\n", ErrReservationExists},
		{"no reservation for this user (26.05.5)", create, "Error creating the reservation: Unspecified error\n", slurm.ErrUserUnknown},
		{"no such node", create, "Error creating the reservation: Invalid node name specified\n", ErrUnknownNode},
		{
			"no such reservation to change (22.05)", set,
			"Error updating the reservation: Requested reservation is invalid\nslurm_update error: Requested reservation is invalid\n",
			ErrUnknownReservation,
		},
		{"no such reservation to change", set, "slurm_update error: Requested reservation is invalid\n", ErrUnknownReservation},
		{"no such reservation to delete", remove, "delete_reservation reservationname=eol-x: Requested reservation is invalid\n", ErrUnknownReservation},
		{"slurmctld is down", remove, "Unable to contact slurm controller (connect failure)\n", ErrNoController},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.ErrorIs(t, test.do(newClient(t, dummy{Stderr: test.stderr, Exit: 1})), test.want)
		})
	}
}
