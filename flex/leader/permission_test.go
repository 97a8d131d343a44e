package leader

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// asked answers a Permission for a cluster with a backup controller, and counts the calls.
type asked struct {
	user        string // SlurmUser as scontrol prints it; empty: this user
	down        error  // error of each call
	controllers int
	configs     int
}

func (a *asked) Config(context.Context) (slurm.Config, error) {
	a.configs++
	user := a.user
	if user == "" {
		user = "us(" + strconv.Itoa(os.Geteuid()) + ")"
	}
	return slurm.Config{"SlurmUser": user}, a.down
}

func (a *asked) Controllers(context.Context) ([]slurm.Controller, error) {
	a.controllers++
	return []slurm.Controller{{Role: "primary", Host: "ctl1", Up: true}, {Role: "backup", Host: "ctl2"}}, a.down
}

func TestPassesAreMadeOnOneHostOnly(t *testing.T) {
	up := func(hosts ...string) []slurm.Controller {
		var all []slurm.Controller
		for i, role := range []string{"primary", "backup1"}[:len(hosts)] {
			host, isUp := hosts[i], true
			if host[0] == '-' {
				host, isUp = host[1:], false
			}
			all = append(all, slurm.Controller{Role: role, Host: host, Up: isUp})
		}
		return all
	}
	const none = "no slurmctld is up: primary ctl1 is DOWN, backup1 ctl2 is DOWN"
	for name, test := range map[string]struct {
		host        string
		controllers []slurm.Controller
		want        string // empty: this host acts
	}{
		"not on the backup's while the primary is up":    {"ctl2", up("ctl1", "ctl2"), "slurmctld is active on ctl1"},
		"not on the primary's while only the backup is":  {"ctl1", up("-ctl1", "ctl2"), "slurmctld is active on ctl2"},
		"on none while none is up":                       {"ctl1", up("-ctl1", "-ctl2"), none},
		"on the only controller's, down, to say why not": {"ctl1", up("-ctl1"), ""},
		"on a host that is not a controller":             {"login", up("ctl1", "ctl2"), ""},
		"on such a one though none is up":                {"login", up("-ctl1", "-ctl2"), ""},
		"by the name before the dot":                     {"ctl2.example.org", up("ctl1", "ctl2"), "slurmctld is active on ctl1"},
		"with a name that only starts alike":             {"ctl2", up("ctl", "ctl22"), ""},
	} {
		err := standing(test.host, test.controllers)
		if test.want == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.EqualError(t, err, test.want)
		assert.Equal(t, test.want != none, errors.Is(err, ErrStandby), name)
	}
}

func TestExactlyOneControllerActs(t *testing.T) {
	hosts := []string{"ctl1", "ctl2", "ctl3"}
	for up := 1; up < 1<<len(hosts); up++ { // one bit per host
		var controllers []slurm.Controller
		for i, host := range hosts {
			controllers = append(controllers, slurm.Controller{Role: "backup", Host: host, Up: up>>i&1 == 1})
		}
		acting := 0
		for _, host := range hosts {
			if standing(host, controllers) == nil {
				acting++
			}
		}
		assert.Equal(t, 1, acting, "%v", controllers)
	}
}

func TestOnlySlurmUserMakesPasses(t *testing.T) {
	p := &asked{}
	permission := &Permission{Slurm: p, Host: "ctl1"}
	for range 2 {
		require.NoError(t, permission.Check(t.Context()))
	}
	assert.Equal(t, 1, p.configs, "once is enough")
	assert.Equal(t, 2, p.controllers)

	p.user = "slurm(4294967294)"
	err := (&Permission{Slurm: p, Host: "ctl1"}).Check(t.Context())
	require.EqualError(t, err, "not SlurmUser: this runs as "+userName(strconv.Itoa(os.Geteuid()))+
		", and SlurmUser is slurm; run it as slurm, in a unit with User=slurm or by sudo -u slurm")
	require.ErrorIs(t, err, ErrNotSlurmUser)
	p.user = "slurm"
	err = (&Permission{Slurm: p, Host: "ctl1"}).Check(t.Context())
	require.EqualError(t, err, `read slurm.conf: SlurmUser "slurm" is not a name with a uid`)
	assert.Equal(t, 2, p.controllers)
}

func TestNoHostActsWithoutAnAnswerFromSlurm(t *testing.T) {
	p := &asked{down: errors.New("scontrol: no answer within 30s")}
	permission := &Permission{Slurm: p, Host: "ctl1"}
	require.EqualError(t, permission.Check(t.Context()), "read slurm.conf: scontrol: no answer within 30s")
	p.down = nil
	require.NoError(t, permission.Check(t.Context()))
	p.down = errors.New("scontrol: no answer within 30s")
	require.EqualError(t, permission.Check(t.Context()), "read controllers: scontrol: no answer within 30s")
}
