package flex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/slurm"
)

// pair answers a Permission for a cluster with a backup controller.
type pair struct {
	mu        sync.Mutex
	user      string // SlurmUser as scontrol prints it; empty: this user
	primary   bool   // the primary is up
	backup    bool
	others    []slurm.Controller // replace these two
	down      error              // error of each call
	asked     int                // number of calls for the controllers
	usersRead int
}

func (p *pair) Config(context.Context) (slurm.Config, error) {
	defer locked(&p.mu)()
	p.usersRead++
	user := p.user
	if user == "" {
		user = "us(" + strconv.Itoa(os.Geteuid()) + ")"
	}
	return slurm.Config{"SlurmUser": user}, p.down
}

func (p *pair) Controllers(context.Context) ([]slurm.Controller, error) {
	defer locked(&p.mu)()
	p.asked++
	if p.others != nil {
		return p.others, p.down
	}
	return []slurm.Controller{{Role: "primary", Host: "ctl1", Up: p.primary}, {Role: "backup", Host: "ctl2", Up: p.backup}}, p.down
}

// set sets which of the two controllers are up.
func (p *pair) set(primary, backup bool) {
	defer locked(&p.mu)()
	p.primary, p.backup = primary, backup
}

func TestPassesAreMadeOnOneHostOnly(t *testing.T) {
	up := func(hosts ...string) []slurm.Controller {
		var all []slurm.Controller
		for i, role := range []string{"primary", "backup1", "backup2"}[:len(hosts)] {
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
		"on the primary's": {"ctl1", up("ctl1", "ctl2"), ""},
		"not on the backup's while the primary is up":    {"ctl2", up("ctl1", "ctl2"), "slurmctld is active on ctl1"},
		"not on the primary's while only the backup is":  {"ctl1", up("-ctl1", "ctl2"), "slurmctld is active on ctl2"},
		"on the backup's while the primary is down":      {"ctl2", up("-ctl1", "ctl2"), ""},
		"on the first of the backups that are up":        {"ctl2", up("-ctl1", "ctl2", "ctl3"), ""},
		"not on the second one's":                        {"ctl3", up("-ctl1", "ctl2", "ctl3"), "slurmctld is active on ctl2"},
		"on the second one's when it is the only one up": {"ctl3", up("-ctl1", "-ctl2", "ctl3"), ""},
		"on none while none is up":                       {"ctl1", up("-ctl1", "-ctl2"), none},
		"on none of them, whichever asks":                {"ctl2", up("-ctl1", "-ctl2"), none},
		"on the only controller's, up":                   {"ctl1", up("ctl1"), ""},
		"on the only controller's, down, to say why not": {"ctl1", up("-ctl1"), ""},
		"on a host that is not a controller":             {"login", up("ctl1", "ctl2"), ""},
		"on such a one though none is up":                {"login", up("-ctl1", "-ctl2"), ""},
		"by the name before the dot":                     {"ctl2.example.org", up("ctl1", "ctl2"), "slurmctld is active on ctl1"},
		"by the whole name":                              {"ctl2.example.org", up("ctl1.example.org", "ctl2.example.org"), "slurmctld is active on ctl1.example.org"},
		"with a name that only starts alike":             {"ctl2", up("ctl", "ctl22"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := standing(test.host, test.controllers)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			assert.Equal(t, test.want != none, errors.Is(err, ErrStandby))
		})
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
	us := userName(strconv.Itoa(os.Geteuid()))
	for name, test := range map[string]struct{ user, want string }{
		"us": {"", ""},
		"another": {
			"slurm(4294967294)",
			"not SlurmUser: this runs as " + us + ", and SlurmUser is slurm; run it as slurm, in a unit with User=slurm or by sudo -u slurm",
		},
		"no uid": {"slurm", `read slurm.conf: SlurmUser "slurm" is not a name with a uid`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pair{primary: true, user: test.user}
			permission := &Permission{Slurm: p, Host: "ctl1"}
			err := permission.check(t.Context())
			if test.want == "" {
				require.NoError(t, err)
				require.NoError(t, permission.check(t.Context()))
				assert.Equal(t, 1, p.usersRead, "once is enough")
				assert.Equal(t, 2, p.asked)
				return
			}
			require.EqualError(t, err, test.want)
			assert.Equal(t, name == "another", errors.Is(err, ErrNotSlurmUser))
			assert.Zero(t, p.asked)
		})
	}
}

func TestNoHostActsWithoutAnAnswerFromSlurm(t *testing.T) {
	p := &pair{primary: true, down: errors.New("scontrol: no answer within 30s")}
	permission := &Permission{Slurm: p, Host: "ctl1"}
	require.EqualError(t, permission.check(t.Context()), "read slurm.conf: scontrol: no answer within 30s")
	p.down = nil
	require.NoError(t, permission.check(t.Context()))
	p.down = errors.New("scontrol: no answer within 30s")
	require.EqualError(t, permission.check(t.Context()), "read controllers: scontrol: no answer within 30s")
}

func TestPermissionDefaultsToThisHost(t *testing.T) {
	name, err := os.Hostname()
	require.NoError(t, err)
	me := slurm.Controller{Role: "backup", Host: name, Up: true}
	permission := &Permission{Slurm: &pair{others: []slurm.Controller{{Role: "primary", Host: "ctl1", Up: true}, me}}}
	require.ErrorIs(t, permission.check(t.Context()), ErrStandby)
}

// watched is a scheduler that records which daemon reconciles.
type watched struct {
	Scheduler
	passes func()
}

func (w watched) Nodes(ctx context.Context) ([]slurm.Node, error) {
	w.passes()
	return w.Scheduler.Nodes(ctx)
}

// second starts another daemon beside the world's, with a lock of its own. passes is called with
// the daemon's name in each pass.
func (w *world) second(name string, lock Lock, passes func(name string)) (log *observer.ObservedLogs, stop func()) {
	core, log := observer.New(zapcore.InfoLevel)
	r := &Reconciler{
		Config: w.Config, Cloud: w.Cloud, Log: zap.New(core), Now: time.Now,
		Scheduler: watched{w.slurm, func() { passes(name) }},
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, lock, nil) }()
	return log, func() { cancel(); require.NoError(w.t, <-ended) }
}

// tally counts the passes of each daemon.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(name string) {
	defer locked(&c.mu)()
	c.counts[name]++
}

// since returns the counts since its last call.
func (c *tally) since() map[string]int {
	defer locked(&c.mu)()
	was := c.counts
	c.counts = map[string]int{}
	return was
}

func TestTwoDaemonsOnOneHostActOneAtATime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		passes := &tally{counts: map[string]int{}}
		h := hang(w, "alpha-a3-job-1")
		w.slurm.submit(1, "train", "alpha-a3-0")
		_, stopFirst := w.second("first", w.lock, passes.add)
		synctest.Wait()
		_, stopSecond := w.second("second", w.lock, passes.add)
		defer stopSecond()
		time.Sleep(5 * time.Minute)
		made := passes.since()
		assert.Greater(t, made["first"], 5)
		assert.Zero(t, made["second"], "while the first has anything in flight")

		stopFirst()
		time.Sleep(time.Minute)
		assert.NotZero(t, passes.since()["second"], "it continues where the first stopped")
		close(h.let)
		time.Sleep(time.Minute)
		w.owns("group alpha-a3-job-1 in us-central1 of size 1",
			"request alpha-a3-job-1/a1 for alpha-a3-0: SUCCEEDED", "instance alpha-a3-0 of alpha-a3-job-1: RUNNING")
	})
}

func TestBackupTakesOverAndHandsBack(t *testing.T) {
	backupsDir := privateFolder(t)
	inWorld(t, func(t *testing.T, w *world) {
		ctlds, passes := &pair{primary: true, backup: true}, &tally{counts: map[string]int{}}
		permission := func(host string) *Permission { return &Permission{Slurm: ctlds, Host: host} }
		log1, stop1 := w.second("ctl1", Lock{Dir: w.lock.Dir, Permission: permission("ctl1")}, passes.add)
		log2, stop2 := w.second("ctl2", Lock{Dir: backupsDir, Permission: permission("ctl2")}, passes.add)
		defer stop1()
		defer stop2()
		const twoPasses = 2 * 33 * time.Second
		for i, acting := range []string{"ctl1", "ctl2", "ctl1"} {
			ctlds.set(acting == "ctl1", true)
			time.Sleep(twoPasses)
			passes.since() // from now on only one daemon acts
			time.Sleep(10 * time.Minute)
			made := passes.since()
			assert.InDelta(t, 20, made[acting], 3)
			assert.Len(t, made, 1, "%d: only on %s", i, acting)
		}
		told := func(log *observer.ObservedLogs) (lines []string) {
			for _, e := range log.All() {
				if why := e.ContextMap()["error"]; why != nil {
					e.Message += ": " + fmt.Sprint(why)
				}
				lines = append(lines, e.Message)
			}
			return lines
		}
		assert.Equal(t, []string{"standing by: slurmctld is active on ctl2", "reconciling again"}, told(log1))
		assert.Equal(t, []string{"standing by: slurmctld is active on ctl1", "reconciling again", "standing by: slurmctld is active on ctl1"}, told(log2))
	})
}

func TestHooksAndCronOnTheBackupMakeNoPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.lock.Permission = &Permission{Slurm: &pair{primary: true, backup: true}, Host: "ctl2"}
		require.NoError(t, w.Settle(t.Context(), w.lock, time.Minute))
		_, err := w.Sync(t.Context(), w.lock)
		require.ErrorIs(t, err, ErrStandby)
		assert.Empty(t, w.slurm.passes())
		assert.Empty(t, w.mutations())
		assert.False(t, w.locked())
	})
}

func TestDaemonOfTheWrongUserMakesNoPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lock.Permission = &Permission{Slurm: &pair{user: "slurm(4294967294)"}, Host: "ctl1"}
		require.ErrorIs(t, w.Run(t.Context(), w.lock, nil), ErrNotSlurmUser)
		assert.Empty(t, w.slurm.passes())
		w.lock.Permission = nil
		assert.False(t, w.locked())
	})
}
