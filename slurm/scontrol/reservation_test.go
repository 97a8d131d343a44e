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
	require.Equal(t, []string{
		"scontrol create reservation reservationname=alpha-eol-1900000000 nodes=f[0-1,5] starttime=uts1900000000 duration=10 users=root flags=maint,ignore_jobs",
		"scontrol update reservationname=alpha-eol-1900000000 nodes=f[1-2]",
		"scontrol update reservationname=alpha-eol-1900000000 nodes=f[1-2] endtime=uts1900000600",
		"scontrol delete reservationname=alpha-eol-1900000000",
	}, asked(t, c))
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
	require.Equal(t, []string{
		"scontrol create reservation reservationname=slurmflex-alpha.cover-1900000000 nodes=f[0-1] starttime=now duration=infinite users=root flags=ignore_jobs,overlap,no_hold_jobs_after,purge_comp=6",
		"scontrol update reservationname=slurmflex-alpha.cover-1900000000 flags+=purge_comp=66",
		"scontrol create reservation reservationname=slurmflex-alpha.door-7_2-1900000000 nodes=f0 starttime=uts1900000300 duration=infinite users=ann flags=overlap,no_hold_jobs_after,purge_comp=5",
		"scontrol update jobid=7_2 reservationname=slurmflex-alpha.door-7_2-1900000000",
		"scontrol update reservationname=slurmflex-alpha.door-7_2-1900000000 starttime=uts1900000100",
		"scontrol update jobid=7_2 reservationname=",
		"scontrol create reservation reservationname=slurmflex-alpha.rest-1900000000 nodes=f0 starttime=now duration=5 users=root flags=ignore_jobs,overlap",
	}, asked(t, c))
	require.Error(t, c.SetReservationOf(t.Context(), "7,8", door.Name))
	require.Error(t, c.SetReservationOf(t.Context(), "7", "a b"))
}

func TestReservationsForUsersOfADirectory(t *testing.T) {
	door := slurm.ReservationSpec{Name: "slurmflex-alpha.door-7-1900000000", Nodes: []string{"f0"}, Start: time.Unix(1900000300, 0), Purge: 5 * time.Minute}
	for _, door.User = range []string{"ann@example.com", `EXAMPLE\ann`, "EXAMPLE+ann", "svc$", "Jörg Doe"} {
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
	for want, spoil := range map[string]func(*slurm.ReservationSpec){
		`name ""` + badName:                                       func(s *slurm.ReservationSpec) { s.Name = "" },
		`name "a b"` + badName:                                    func(s *slurm.ReservationSpec) { s.Name = "a b" },
		`name "-a"` + badName:                                     func(s *slurm.ReservationSpec) { s.Name = "-a" },
		"alpha-eol-1900000000: no nodes":                          func(s *slurm.ReservationSpec) { s.Nodes = nil },
		`alpha-eol-1900000000: "ALL" is not the name of one node`: func(s *slurm.ReservationSpec) { s.Nodes = []string{"ALL"} },
		"no start": func(s *slurm.ReservationSpec) { s.Start = time.Time{} },
		"no end":   func(s *slurm.ReservationSpec) { s.Lasts = 0 },
	} {
		c := newClient(t, dummy{})
		bad := spec()
		spoil(&bad)
		require.EqualError(t, c.CreateReservation(t.Context(), bad), "create reservation: "+want)
		if bad.Name != spec().Name {
			require.EqualError(t, c.DeleteReservation(t.Context(), bad.Name), "delete reservation: "+want)
		}
		if bad.Start.Equal(spec().Start) && bad.Lasts > 0 {
			require.EqualError(t, c.SetReservation(t.Context(), bad.Name, slurm.ReservationChange{Nodes: bad.Nodes}), "update reservation: "+want)
		}
		require.Empty(t, calls(t, c))
	}
}

// The texts are those of 22.05.8 and 24.11.5.
func TestSlurmErrorsAboutReservationsAreRecognised(t *testing.T) {
	create := func(c *Client) error { return c.CreateReservation(t.Context(), spec()) }
	set := func(c *Client) error {
		return c.SetReservation(t.Context(), "eol-x", slurm.ReservationChange{Nodes: []string{"f0"}})
	}
	remove := func(c *Client) error { return c.DeleteReservation(t.Context(), "eol-x") }
	for stderr, test := range map[string]struct {
		do   func(*Client) error
		want error
	}{
		"Error creating the reservation: Duplicate reservation name\n":                                                             {create, ErrReservationExists},
		"Error creating the reservation: Unspecified error\n":                                                                      {create, slurm.ErrUserUnknown}, // 26.05.5
		"Error creating the reservation: Invalid node name specified\n":                                                            {create, ErrUnknownNode},
		"Error updating the reservation: Requested reservation is invalid\nslurm_update error: Requested reservation is invalid\n": {set, ErrUnknownReservation},
		"slurm_update error: Requested reservation is invalid\n":                                                                   {set, ErrUnknownReservation},
		"delete_reservation reservationname=eol-x: Requested reservation is invalid\n":                                             {remove, ErrUnknownReservation},
	} {
		require.ErrorIs(t, test.do(newClient(t, dummy{Stderr: stderr, Exit: 1})), test.want, stderr)
	}
}
