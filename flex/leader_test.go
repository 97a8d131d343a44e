package flex

import (
	"context"
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

	"slurmflex/flex/leader"
	"slurmflex/slurm"
)

// pair answers a Permission for a cluster with a backup controller.
type pair struct {
	mu      sync.Mutex
	user    string // SlurmUser as scontrol prints it; empty: this user
	primary bool   // the primary is up
	backup  bool
}

func (p *pair) Config(context.Context) (slurm.Config, error) {
	user := p.user
	if user == "" {
		user = "us(" + strconv.Itoa(os.Geteuid()) + ")"
	}
	return slurm.Config{"SlurmUser": user}, nil
}

func (p *pair) Controllers(context.Context) ([]slurm.Controller, error) {
	defer locked(&p.mu)()
	return []slurm.Controller{{Role: "primary", Host: "ctl1", Up: p.primary}, {Role: "backup", Host: "ctl2", Up: p.backup}}, nil
}

// set sets which of the two controllers are up.
func (p *pair) set(primary, backup bool) {
	defer locked(&p.mu)()
	p.primary, p.backup = primary, backup
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
func (w *world) second(name string, lock leader.Lock, passes func(name string)) (log *observer.ObservedLogs, stop func()) {
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
		time.Sleep(2 * time.Minute) // after apply.Limit the action ends, and the second has its turn
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
		permission := func(host string) *leader.Permission { return &leader.Permission{Slurm: ctlds, Host: host} }
		log1, stop1 := w.second("ctl1", leader.Lock{Dir: w.lock.Dir, Permission: permission("ctl1")}, passes.add)
		log2, stop2 := w.second("ctl2", leader.Lock{Dir: backupsDir, Permission: permission("ctl2")}, passes.add)
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
