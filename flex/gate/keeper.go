package gate

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// lookPace is how often nodes that may come up at any time are looked at.
const lookPace = 500 * time.Millisecond

// Scheduler is what gates need of Slurm between the passes.
type Scheduler interface {
	// NodesNamed reads only these nodes.
	NodesNamed(ctx context.Context, names []string) ([]slurm.Node, error)
}

// Watcher is told how many gates are held now, and of each that opens why, and for which
// job. Cold says that it had to wait for nodes.
type Watcher interface {
	Gates(held int)
	GateOpened(why Outcome, nodes []string, cold bool)
}

// Keeper holds gates: it is a flex.Gates and a flex.Watcher.
type Keeper struct {
	slurm Scheduler
	log   *zap.Logger
	now   func() time.Time
	watch Watcher
	woken chan struct{} // a gate has arrived

	mu     sync.Mutex // guards what follows
	cfg    *config.Config
	held   map[uint32]*held // by job
	passed time.Time        // when the last pass was made, or this began
	over   bool
}

type held struct {
	Waiting
	conn net.Conn
}

var (
	_ flex.Gates   = (*Keeper)(nil)
	_ flex.Watcher = (*Keeper)(nil)
)

// New makes a keeper without gates. It holds them while Run runs.
func New(cfg *config.Config, s Scheduler, w Watcher, log *zap.Logger, now func() time.Time) *Keeper {
	return &Keeper{slurm: s, log: log, now: now, watch: w, cfg: cfg, passed: now(), held: map[uint32]*held{}, woken: make(chan struct{}, 1)}
}

// Use makes another configuration apply to gates that arrive from now on.
func (k *Keeper) Use(cfg *config.Config) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cfg = cfg
}

// Arrive holds the gate of a job with flex nodes, unless too many are held already.
// slurmctld runs a gate again only when the one before has no more say.
func (k *Keeper) Arrive(conn net.Conn, call flex.WakeUp) {
	job := call.Jobs[0]
	k.mu.Lock()
	defer k.mu.Unlock()
	names, err := slurm.Expand(call.Nodes)
	if err != nil || k.over || !slices.ContainsFunc(names, func(name string) bool { return k.cfg.FlexSetOf(name) != nil }) {
		conn.Close()
		return
	}
	if before := k.held[job]; before != nil {
		k.open(before, Ended)
	}
	h := &held{Waiting: Waiting{Job: job, Het: call.Het, Nodes: names, Since: k.now(), Near: call.Het == 0}, conn: conn}
	if len(k.held) >= k.cfg.Options.MaxGates {
		k.open(h, Full)
		return
	}
	k.held[job] = h
	k.watch.Gates(len(k.held))
	if flex.HoldGate(conn) != nil {
		k.open(h, Ended)
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, conn) // it says nothing more, and ends with the gate
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.held[job] == h {
			k.open(h, Ended)
		}
	}()
	select {
	case k.woken <- struct{}{}:
	default:
	}
}

// open opens a gate, which has been told of by then; mu is held.
func (k *Keeper) open(h *held, why Outcome) {
	defer h.conn.Close()
	if k.held[h.Job] == h {
		delete(k.held, h.Job)
	}
	k.watch.Gates(len(k.held))
	k.watch.GateOpened(why, h.Nodes, h.Cold)
	k.log.Info("gate opened", zap.Uint32("job", h.Job), zap.String("outcome", string(why)), zap.Duration("after", k.now().Sub(h.Since)))
}

func (k *Keeper) openAll(why Outcome) {
	for _, h := range k.held {
		k.open(h, why)
	}
}

// Run looks at the nodes that jobs wait for until ctx ends, and opens all gates then.
func (k *Keeper) Run(ctx context.Context) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.over = true
		k.openAll(Stopped)
	}()
	pulse := time.NewTicker(flex.GatePulse)
	defer pulse.Stop()
	var again <-chan time.Time // nil while no node is near
	for {
		select {
		case <-ctx.Done():
			return
		case <-pulse.C:
			k.pulse()
		case <-k.woken:
		case <-again:
		}
		again = nil
		if near := k.near(); len(near) > 0 {
			k.look(ctx, near)
			again = time.After(lookPace)
		}
	}
}

// pulse has all gates wait on, as long as passes are made.
func (k *Keeper) pulse() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.passed) > 3*k.cfg.Options.Interval+time.Minute {
		k.openAll(Unsure)
	}
	for _, h := range k.held {
		if flex.HoldGate(h.conn) != nil {
			k.open(h, Ended)
		}
	}
}

// near are the nodes of jobs whose nodes may come up at any time.
func (k *Keeper) near() (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.held {
		if h.Near {
			names = append(names, h.Nodes...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// look opens the gates of jobs whose nodes are up now. What cannot be read, the next pass
// reads.
func (k *Keeper) look(ctx context.Context, names []string) {
	begun := k.now()
	nodes, err := k.slurm.NodesNamed(ctx, names)
	if err != nil {
		k.log.Debug("nodes of gates not read", zap.Error(err))
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.held {
		if !h.Near || !begun.After(h.Since) {
			continue
		}
		var why Outcome
		if h.Waiting, why = look(h.Waiting, nodes); why != "" {
			k.open(h, why)
		}
	}
}

// Saw opens the gates that a pass shows need not be held, before it acts.
func (k *Keeper) Saw(s *scene.Scene, p plan.Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.held {
		var why Outcome
		if h.Waiting, why = judge(h.Waiting, s, p.Actions); why != "" {
			k.open(h, why)
		}
	}
}

// Did is of no concern to gates.
func (k *Keeper) Did(plan.Action, time.Time, time.Duration, error) {}

// Stood opens all gates when a pass was not made: Slurm cannot be read, or another host
// acts.
func (k *Keeper) Stood(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.openAll(Unsure)
		return
	}
	k.passed = k.now()
}
