package chaos

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/mig/gce"
)

// process is a run of the program: the daemon's, a hook's without a daemon, or
// cron's. It remembers nothing of the runs before it.
type process struct {
	w          *world
	name       string
	lock       flex.Lock
	reconciler *flex.Reconciler
	wakeUps    chan flex.WakeUp
	between    chan func()
	runsWith   atomic.Pointer[config.Config]
	ctx        context.Context
	cancel     context.CancelFunc
	ended      chan struct{}

	mu   sync.Mutex
	left int  // calls until it is killed; negative: it is not to be
	fate kill // how it is killed
	dead bool // it has been killed
}

// newProcess makes a process with the present configuration, on a controller's
// host.
func (w *world) newProcess(name string, on host) *process {
	p := &process{w: w, name: name, wakeUps: make(chan flex.WakeUp, 1), between: make(chan func()), ended: make(chan struct{}), left: -1}
	p.ctx, p.cancel = context.WithCancel(w.ctx)
	client, err := gce.New(p.ctx, gce.Options{
		Project: project, Endpoint: "http://compute.test", Transport: &wire{process: p, next: w.cloud.Transport()},
		Jitter: func(most time.Duration) time.Duration { return w.dice.span(0, most, "pause", time.Now().UnixNano()) },
	})
	if err != nil { // only a wrong endpoint would make it
		panic(fmt.Sprintf("compute client: %v", err))
	}
	slurm := &commands{process: p, next: w.slurm}
	p.lock = flex.Lock{Dir: w.lockDirs[on], Permission: &flex.Permission{Slurm: slurm, Host: string(on)}}
	p.reconciler = &flex.Reconciler{
		Config: w.config(), Scheduler: slurm, Cloud: client, Log: w.journal.log(name), Now: w.now,
		Jitter: func(d time.Duration) time.Duration {
			return w.dice.span(d-d/10, d+d/10, "jitter", name, time.Now().UnixNano())
		},
		Watch: passes{p}, Between: p.between,
	}
	p.runsWith.Store(p.reconciler.Config)
	return p
}

// begin has the process do something until it ends.
func (p *process) begin(do func()) {
	p.w.processes.Go(func() {
		defer close(p.ended)
		do()
	})
}

// daemon is what slurmflex daemon does.
func (p *process) daemon() {
	p.reconciler.Promises = true
	if err := p.reconciler.Run(p.ctx, p.lock, p.wakeUps); err != nil {
		p.w.journal.note("%s: %v", p.name, err)
	}
}

// wake-up hands a wake-up over, as the daemon's socket does: one that comes while
// another waits is dropped.
func (p *process) wakeUp(h flex.WakeUp) {
	select {
	case p.wakeUps <- h:
	default:
	}
}

// hangUp has the process take its configuration from the file again, if that can
// be read, as SIGHUP does.
func (p *process) hangUp(file string) {
	read, err := config.Parse(cluster+".yaml", []byte(file))
	p.w.journal.note("%s: configuration read again: %t", p.name, err == nil)
	if err != nil {
		return
	}
	p.w.processes.Go(func() {
		select {
		case <-p.ctx.Done():
		case p.between <- func() {
			next, _ := p.reconciler.Config.Reload(read)
			p.reconciler.Config = next
			p.runsWith.Store(next)
		}:
		}
	})
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// doom has the process killed at one of its next calls.
func (p *process) doom(k kill) {
	defer locked(&p.mu)()
	p.left, p.fate = k.calls, k
}

// fatal counts a call, and reports whether the process is killed by it and
// whether the call still reaches its goal.
func (p *process) fatal() (killed, acts bool) {
	defer locked(&p.mu)()
	if p.left < 0 || p.dead {
		return false, false
	}
	p.left--
	p.dead = p.left < 0
	return p.dead, p.fate.acts
}

// gone reports whether the process has been killed or stopped: no further call
// of it goes anywhere.
func (p *process) gone() bool { return p.ctx.Err() != nil }

// host is where slurmctld may run, as slurm.conf calls it.
type host string

// The controllers.
const (
	primary host = "ctl1"
	backup  host = "ctl2"
)

// service keeps the daemon of a host running, as systemd does.
type service struct {
	w    *world
	name string
	host host

	mu      sync.Mutex
	process *process // nil while it does not run
	ended   time.Time
	again   time.Time
	dooms   kill
}

// start starts the daemon.
func (s *service) start() {
	s.w.calls.wakeUp()
	p := s.w.newProcess(s.name, s.host)
	p.begin(p.daemon)
	s.w.faults.suffered(program) // while it did not run
	defer locked(&s.mu)()
	s.process = p
	s.w.journal.note("%s started", s.name)
}

// away reports whether the daemon has ended and is to be started again.
func (s *service) away() bool {
	defer locked(&s.mu)()
	return s.process == nil && !s.ended.IsZero() || s.process != nil && s.process.gone()
}

// end notes that the daemon has ended, to be started again after a while.
func (s *service) end(after time.Duration) {
	s.process, s.ended, s.again = nil, time.Now(), time.Now().Add(after)
}

// alive has the daemon do something, and reports whether there is one.
func (s *service) alive(do func(*process)) bool {
	defer locked(&s.mu)()
	if s.process == nil || s.process.gone() {
		return false
	}
	do(s.process)
	return true
}

// running is the daemon's process; nil while it does not run.
func (s *service) running() *process {
	defer locked(&s.mu)()
	return s.process
}

// restart stops the daemon and has it started again after a while.
func (s *service) restart(after time.Duration) {
	s.mu.Lock()
	p := s.process
	s.end(after)
	s.mu.Unlock()
	if p != nil {
		p.stop()
	}
	s.w.journal.note("%s stopped", s.name)
}

// tend starts the daemon again when it is time.
func (s *service) tend() {
	s.mu.Lock()
	if s.process != nil && s.process.gone() {
		s.end(s.dooms.lasts)
		s.w.journal.note("%s killed", s.name)
	}
	due := s.process == nil && !time.Now().Before(s.again)
	s.mu.Unlock()
	if due {
		s.start()
	}
}
