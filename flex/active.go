package flex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"slurmflex/slurm"
)

// Controllers is what is asked of Slurm before a pass, to know whether it is
// ours to make.
type Controllers interface {
	Config(ctx context.Context) (slurm.Config, error)
	Controllers(ctx context.Context) ([]slurm.Controller, error)
}

// Permission says whether this process may reconcile: as SlurmUser only, and where
// a cluster has several controllers, on one of their hosts only.
//
// Of several controllers the first that is up acts, in the order of slurm.conf:
// the primary if it is, else the first backup. That is where slurmctld is
// active, but for a moment around a takeover, and with three controllers after
// scontrol takeover 2, when the first backup is up and in standby. Even then
// one host acts and not two, for all of them see the same ones up. Two hosts
// that cannot reach each other see different ones; but slurmctld does not take
// over from one that still writes into the StateSaveLocation, and a host whose
// slurmctld is in standby gets no answer to anything else, and does not reconcile.
//
// A host that is no controller acts, no matter who is up: it was chosen by the one who
// started slurmflex there, Slurm calls nobody on it, and no other host is
// to take its place. If slurmflex runs there, it must not run on the
// controllers. A single controller is not waited for either.
//
// A Permission is not for concurrent use.
type Permission struct {
	Slurm Controllers
	Host  string // as uname gives it; empty: this host's

	ours bool // we are SlurmUser
}

// ErrStandby says that another controller's host reconciles.
var ErrStandby = errors.New("slurmctld is active")

// ErrNotSlurmUser says that this process runs as another user than slurmctld.
// It does not pass.
var ErrNotSlurmUser = errors.New("not SlurmUser")

// check returns nil if a pass may begin. It asks Slurm once, and the first
// time twice. A nil Permission allows everything.
func (s *Permission) check(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if err := s.checkUser(ctx); err != nil {
		return err
	}
	host := s.Host
	if host == "" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return fmt.Errorf("which controller this is: %w", err)
		}
	}
	controllers, err := s.Slurm.Controllers(ctx)
	if err != nil {
		return fmt.Errorf("read controllers: %w", err)
	}
	return standing(host, controllers)
}

// standing is nil if the host is to act, ErrStandby if another one is, and
// another error if there is none to act.
func standing(host string, controllers []slurm.Controller) error {
	var states []string
	active, among := "", false
	for _, c := range controllers {
		among = among || isHost(c.Host, host)
		state := "DOWN"
		if c.Up {
			state = "UP"
			if active == "" {
				active = c.Host
			}
		}
		states = append(states, fmt.Sprintf("%s %s is %s", c.Role, c.Host, state))
	}
	switch {
	case len(controllers) < 2 || !among:
		return nil
	case active == "":
		return fmt.Errorf("no slurmctld is up: %s", strings.Join(states, ", "))
	case !isHost(active, host):
		return fmt.Errorf("%w on %s", ErrStandby, active)
	}
	return nil
}

// isHost reports whether a SlurmctldHost is the host of that name, as slurmctld
// itself decides which one it is: by the name or what of it is before a dot.
func isHost(controller, host string) bool {
	short, _, _ := strings.Cut(host, ".")
	return controller == host || controller == short
}

// checkUser returns an error unless this process runs as SlurmUser. The answer
// is remembered: slurmctld cannot change its user without a restart of all.
func (s *Permission) checkUser(ctx context.Context) error {
	if s.ours {
		return nil
	}
	conf, err := s.Slurm.Config(ctx)
	if err != nil {
		return fmt.Errorf("read slurm.conf: %w", err)
	}
	name, uid, ok := conf.User("SlurmUser")
	if !ok {
		return fmt.Errorf("read slurm.conf: SlurmUser %q is not a name with a uid", conf["SlurmUser"])
	}
	if us := os.Geteuid(); us != uid {
		return fmt.Errorf("%w: this runs as %s, and SlurmUser is %s; run it as %s, in a unit with User=%s or by sudo -u %s",
			ErrNotSlurmUser, userName(strconv.Itoa(us)), name, name, name, name)
	}
	s.ours = true
	return nil
}

// userName is the name of a uid, or the uid if it has none.
func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}
