package chaos

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"slurmflex/config"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
)

// world is a day's Slurm, cloud and program.
type world struct {
	ctx     context.Context
	begun   time.Time
	dice    dice
	setup   setup
	journal journal

	cloud     *fakegce.Server
	slurm     *fakeslurm.Cluster
	lockDirs  map[host]string
	main      *service // daemon of the primary controller
	other     *service // daemon of the backup controller
	processes sync.WaitGroup
	machines  machines
	ledger    ledger
	known     map[string]bool // the cluster's nodes

	faults   faults
	rows     rows
	watch    *watch
	check    check
	calls    calls
	ambushes []func() bool
	ahead    atomic.Int64 // of the daemon's clock, in ns

	fate        atomic.Value   // the current hookFate
	byHand      sync.Map       // nodes that an admin powered up; they need no job
	freed       sync.Map       // by node: when slurmctld last stopped refusing to change it
	primaryDown atomic.Bool    // the backup's slurmctld is active
	jobs        map[int]uint32 // job IDs by the script's numbers

	mu      sync.Mutex
	current *config.Config
	active  int // largest max_active_requests of the day so far
	windows map[string]window
	armed   map[int]fakegce.Fault
}

// window is a lasting event with its end.
type window struct {
	no    int // number of the event that opened it
	until time.Time
	end   func()
}

// newWorld creates the world of a seed. The caller must remove the folders of its locks.
func newWorld(ctx context.Context, seed uint64) (*world, error) {
	d := dice(seed)
	w := &world{
		ctx: ctx, begun: time.Now(), dice: d, setup: newSetup(d), journal: journal{begun: time.Now()},
		lockDirs: map[host]string{}, known: map[string]bool{}, jobs: map[int]uint32{}, windows: map[string]window{}, armed: map[int]fakegce.Fault{},
		faults: faults{dice: d},
	}
	for _, h := range []host{primary, backup} {
		dir, err := os.MkdirTemp("", "slurmflex-chaos-")
		if err != nil {
			return nil, err
		}
		w.lockDirs[h] = dir
	}
	w.machines, w.ledger = machines{w: w, all: map[string]machine{}}, ledger{w: w, ends: map[string]time.Duration{}}
	w.check = check{w: w, unasked: map[string]int{}, counted: map[string]time.Time{}, unwanted: map[string]*unwanted{}, lost: map[string]time.Time{}, preempted: map[string]sight{}}
	w.main = &service{w: w, name: "daemon", host: primary}
	w.other = &service{w: w, name: "backup's daemon", host: backup}
	w.setEdition(0)

	w.setup.cloud.OnBoot, w.setup.cloud.OnDelete = w.machines.boot, w.machines.leave
	w.cloud = fakegce.New(w.setup.cloud)
	for _, name := range w.setup.slurm.Nodes {
		w.known[name] = true
	}
	w.setup.slurm.Resume = func(nodes []string, jobs []uint32) {
		w.hook(wake.Call{Verb: "resume", Nodes: slurm.Fold(nodes), Jobs: jobs})
	}
	w.setup.slurm.Suspend = func(nodes []string) { w.hook(wake.Call{Verb: "suspend", Nodes: slurm.Fold(nodes)}) }
	w.setup.slurm.ResumeFail = func(nodes []string) {
		w.check.resumeFailed(nodes)
		w.hook(wake.Call{Verb: "resume-fail", Nodes: slurm.Fold(nodes)})
	}
	w.slurm = fakeslurm.New(w.setup.slurm)
	w.watch = newWatch(w.slurm, &w.journal)
	return w, w.furnish()
}

// furnish adds the templates and the neighbours.
func (w *world) furnish() error {
	for _, t := range []struct{ region, name, machine string }{
		{us, "flex", machineType}, {europe, "flex", machineType}, {europe, "tight", "a4-highgpu-8g"},
	} {
		if _, err := w.cloud.AddTemplate(t.region, fakegce.FlexTemplate(t.name, t.machine)); err != nil {
			return err
		}
	}
	for _, region := range []string{us, europe} {
		if _, err := w.cloud.AddTemplate(region, fakegce.PlainTemplate("plain", machineType)); err != nil {
			return err
		}
	}
	if err := w.cloud.SetReservation(reservation, reservedZone, machineType, reserved); err != nil {
		return err
	}
	others := fakegce.FlexTemplate("slurm-gcp", machineType)
	others.Properties.Labels = map[string]string{"slurm_cluster_name": "alpha-a3", "slurm_instance_role": "compute"}
	if _, err := w.cloud.AddTemplate(us, others); err != nil {
		return err
	}
	for _, n := range neighbours() {
		if err := found(w.cloud, n.group, n.stamp); err != nil {
			return err
		}
	}
	time.Sleep(w.setup.cloud.OperationTime + time.Second)
	for _, n := range neighbours() {
		if len(n.machines) == 0 {
			continue
		}
		if err := populate(w.cloud, n.group, "a1", n.machines); err != nil {
			return err
		}
	}
	time.Sleep(w.setup.cloud.OperationTime + w.setup.cloud.QueueTime + w.setup.cloud.BootTime + time.Second)
	return w.reserve()
}

// reserve creates another cluster's reservation.
func (w *world) reserve() error {
	spec := slurm.ReservationSpec{Name: foreignReservation, Nodes: w.setup.slurm.Nodes[:1], Start: w.begun.Add(300 * 24 * time.Hour), Lasts: time.Hour, Maint: true}
	return w.slurm.CreateReservation(w.ctx, spec)
}

// foreignReservation has a name that cluster alpha2 would use.
const foreignReservation = "slurmflex-alpha2-972691200"

// config returns the configuration of the present edition.
func (w *world) config() *config.Config {
	defer locked(&w.mu)()
	return w.current
}

func (w *world) setEdition(e edition) {
	cfg, err := config.Parse(cluster+".yaml", []byte(w.setup.file(e)))
	if err != nil { // a mistake in the setup
		panic(fmt.Sprintf("configuration %d: %v", e, err))
	}
	defer locked(&w.mu)()
	w.current = cfg
	w.active = max(w.active, cfg.Options.MaxActiveRequests)
}

// mostActive returns how many requests may be live in a region. Earlier requests remain when a
// later configuration allows fewer.
func (w *world) mostActive() int {
	defer locked(&w.mu)()
	return w.active
}

// now returns the time on the daemon's host.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// ours returns the groups of the cluster.
func (w *world) ours(st fakegce.State) []fakegce.Group {
	return slices.DeleteFunc(st.Groups, func(g fakegce.Group) bool { return isNeighbours(g.Name) })
}

// lieInWait makes something happen as soon as it can: happens is called each second until it returns true
// or the storm is over.
func (w *world) lieInWait(happens func() bool) { w.ambushes = append(w.ambushes, happens) }

// holds opens a window. If a window with the same key is open, the later end applies.
func (w *world) holds(key string, no int, lasts time.Duration, end func()) {
	defer locked(&w.mu)()
	if old, open := w.windows[key]; open && old.until.After(time.Now().Add(lasts)) {
		lasts = time.Until(old.until)
	}
	w.windows[key] = window{no, time.Now().Add(lasts), end}
}

// lasting reports whether the window with this key is open.
func (w *world) lasting(key string) bool {
	defer locked(&w.mu)()
	_, open := w.windows[key]
	return open
}

// shut ends the windows that are over, or all windows.
func (w *world) shut(all bool) {
	w.mu.Lock()
	var over []func()
	for _, key := range slices.Sorted(maps.Keys(w.windows)) {
		if win := w.windows[key]; all || !win.until.After(time.Now()) {
			over = append(over, win.end)
			delete(w.windows, key)
		}
	}
	w.mu.Unlock()
	for _, end := range over {
		end()
	}
}

// arm arms a fault of the fake Compute for a while.
func (w *world) arm(no int, lasts time.Duration, f fakegce.Fault) {
	w.mu.Lock()
	w.armed[no] = f
	w.mu.Unlock()
	w.rearm()
	w.holds(fmt.Sprintf("fault %d", no), no, lasts, func() {
		w.mu.Lock()
		delete(w.armed, no)
		w.mu.Unlock()
		w.faults.suffered(compute)
		w.rearm()
	})
}

// rearm replaces the fake's faults with the armed ones.
func (w *world) rearm() {
	defer locked(&w.mu)()
	w.cloud.ClearFaults()
	for _, no := range slices.Sorted(maps.Keys(w.armed)) {
		if err := w.cloud.AddFault(w.armed[no]); err != nil {
			panic(fmt.Sprintf("event %d: %v", no, err)) // a mistake in the script
		}
	}
}

// endless reports whether a list has no last page.
func (w *world) endless() bool {
	defer locked(&w.mu)()
	for _, f := range w.armed {
		if f.Endless != "" {
			return true
		}
	}
	return false
}

// well reports whether the daemon has run and every call has been answered for a while, so
// that no action has an excuse to be late.
func (w *world) well() bool { return w.wellFor(5 * time.Minute) }

func (w *world) wellFor(while time.Duration) bool {
	w.mu.Lock()
	faults := len(w.armed)
	w.mu.Unlock()
	since := time.Now().Add(-while)
	return faults == 0 && w.rows.well(since) && !w.main.away() && !w.lasting(slurmAway) && !w.lasting("clock") &&
		w.faults.well(since, compute, controller, program)
}

// hook makes Slurm call one of slurmflex's programs, which wakes the daemon.
func (w *world) hook(h wake.Call) {
	fate, _ := w.fate.Load().(hookFate)
	now := time.Now().UnixNano()
	w.journal.note("hook %s %s %v (%s)", h.Verb, h.Nodes, h.Jobs, fate)
	late := w.dice.span(5*time.Millisecond, 300*time.Millisecond, "hook", h.Verb, h.Nodes, now)
	switch fate {
	case lost:
		return
	case twice:
		time.AfterFunc(w.dice.span(time.Second, 20*time.Second, "hook again", h.Verb, h.Nodes, now), func() { w.handOver(h) })
	case reordered:
		late = w.dice.span(time.Second, 90*time.Second, "late hook", h.Verb, h.Nodes, now)
	}
	time.AfterFunc(late, func() { w.handOver(h) })
}

// settleLimit is the maximum duration of a hook's pass without a daemon, as in cmd/slurmflex.
const settleLimit = 5 * time.Minute

// handOver delivers a wake-up to the daemon, or else to a separate pass.
func (w *world) handOver(h wake.Call) {
	w.calls.wakeUp()
	at := w.main
	if w.primaryDown.Load() {
		at = w.other
	}
	if w.ctx.Err() != nil || at.alive(func(p *process) { p.wakeUp(h) }) {
		return
	}
	p := w.newProcess("hook", at.host)
	p.begin(func() {
		err := p.reconciler.Settle(p.ctx, p.lock, settleLimit)
		w.journal.note("pass of hook %s %s: %v", h.Verb, h.Nodes, err)
	})
}

// locked locks mu and returns the function that unlocks it.
func locked(mu *sync.Mutex) (unlock func()) {
	mu.Lock()
	return mu.Unlock
}
