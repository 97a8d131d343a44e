package leader

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

// scheduler lists the calls to Slurm that decide, before a pass, whether this host makes it.
type scheduler interface {
	Config(ctx context.Context) (slurm.Config, error)
	Controllers(ctx context.Context) ([]slurm.Controller, error)
}

// Permission decides whether this process may reconcile: only as SlurmUser and, if a cluster has
// several controllers, only on one controller's host.
//
// The first controller that is up, in the order of slurm.conf, acts: the primary, or else the first
// backup. slurmctld is active on that host, except for a moment during a takeover. With three
// controllers, another exception follows scontrol takeover 2, when the first backup is up and in
// standby. Even then exactly one host acts, because all hosts see the same controllers as up. Two
// hosts that cannot reach each other see different controllers as up. But slurmctld does not take
// over from a slurmctld that still writes to the StateSaveLocation. A host with slurmctld in
// standby gets only that one answer from Slurm, so it does not reconcile.
//
// A host that is not a controller always acts, whichever controllers are up. The admin chose that
// host by starting slurmflex there, Slurm runs no hooks there, and no other host may replace it. If
// slurmflex runs on such a host, it must not run on the controllers. A single controller always
// acts too.
//
// A Permission is not safe for concurrent use.
type Permission struct {
	Slurm scheduler
	Host  string // as in uname; empty: this host's name

	ours bool // this process runs as SlurmUser
}

// ErrStandby is the error if another controller's host reconciles.
var ErrStandby = errors.New("slurmctld is active")

// ErrNotSlurmUser is the error if this process runs as a user other than SlurmUser. Such a process
// makes no passes.
var ErrNotSlurmUser = errors.New("not SlurmUser")

// Check returns nil if a pass may start. It asks Slurm once, and twice on the first call. A nil
// Permission allows everything.
func (s *Permission) Check(ctx context.Context) error {
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

// standing returns nil if the host must act, ErrStandby if another host must, and another error if
// no slurmctld is up.
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

// isHost reports whether a SlurmctldHost is the named host. Like slurmctld, it compares the full
// name and the part before the first dot.
func isHost(controller, host string) bool {
	short, _, _ := strings.Cut(host, ".")
	return controller == host || controller == short
}

// checkUser returns an error unless this process runs as SlurmUser. It remembers success, because a
// change of SlurmUser needs a restart of all daemons.
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

// userName returns the name of a uid, or "uid N" if the uid lacks a name.
func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}
