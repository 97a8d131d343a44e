package chaos

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/flex/wake"
	"slurmflex/mig/gce"
)

// process is a run of the program as a daemon, as a hook without a daemon, or from cron. It
// remembers nothing of earlier runs.
type process struct {
	w          *world
	name       string
	lock       leader.Lock
	reconciler *flex.Reconciler
	wakeUps    chan wake.Call
	between    chan func()
	runsWith   atomic.Pointer[config.Config]
	ctx        context.Context
	cancel     context.CancelFunc
	ended      chan struct{}

	mu   sync.Mutex
	left int  // calls before it is killed; negative: not doomed
	fate kill // how it is killed
	dead bool // it has been killed
}

// newProcess creates a process with the present configuration on a controller's host.
func (w *world) newProcess(name string, on host) *process {
	p := &process{w: w, name: name, wakeUps: make(chan wake.Call, 1), between: make(chan func()), ended: make(chan struct{}), left: -1}
	p.ctx, p.cancel = context.WithCancel(w.ctx)
	client, err := gce.New(p.ctx, gce.Options{
		Project: project, Endpoint: "http://compute.test", Transport: &wire{process: p, next: w.cloud.Transport()},
		Jitter: func(most time.Duration) time.Duration { return w.dice.span(0, most, "pause", time.Now().UnixNano()) },
	})
	if err != nil { // only a wrong endpoint can fail
		panic(fmt.Sprintf("compute client: %v", err))
	}
	slurm := &commands{process: p, next: w.slurm}
	p.lock = leader.Lock{Dir: w.lockDirs[on], Permission: &leader.Permission{Slurm: slurm, Host: string(on)}}
	p.reconciler = &flex.Reconciler{
		Config: w.config(), Scheduler: slurm, Cloud: client, Log: w.journal.log(name), Now: w.now,
		Jitter: func(d time.Duration) time.Duration {
			return w.dice.span(d-d/10, d+d/10, "jitter", name, time.Now().UnixNano())
		},
		Watch: flex.Watchers{{Saw: p.saw}}, Between: p.between, Spent: w.ledger.Spent,
	}
	p.runsWith.Store(p.reconciler.Config)
	return p
}

// begin runs do in the process until the process ends.
func (p *process) begin(do func()) {
	p.w.processes.Go(func() {
		defer close(p.ended)
		do()
	})
}

// daemon acts like slurmflex daemon.
func (p *process) daemon() {
	p.reconciler.Promises = true
	if err := p.reconciler.Run(p.ctx, p.lock, p.wakeUps); err != nil {
		p.w.journal.note("%s: %v", p.name, err)
	}
}

// wakeUp delivers a wake-up, as the daemon's socket does. A wake-up is dropped while another
// one waits.
func (p *process) wakeUp(h wake.Call) {
	select {
	case p.wakeUps <- h:
	default:
	}
}

// hangUp makes the process read its configuration from the file again, as SIGHUP does. An
// unreadable file changes nothing.
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

// stop ends the process and waits for its end.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// doom makes the process die at one of its next calls.
func (p *process) doom(k kill) {
	defer locked(&p.mu)()
	p.left, p.fate = k.calls, k
}

// fatal counts a call. killed reports whether the call kills the process, and acts whether the
// call still takes effect.
func (p *process) fatal() (killed, acts bool) {
	defer locked(&p.mu)()
	if p.left < 0 || p.dead {
		return false, false
	}
	p.left--
	p.dead = p.left < 0
	return p.dead, p.fate.acts
}

// gone reports whether the process has been killed or stopped. Its further calls have no
// effect.
func (p *process) gone() bool { return p.ctx.Err() != nil }

// host is a controller's name in slurm.conf.
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

// away reports whether the daemon has ended and will be restarted.
func (s *service) away() bool {
	defer locked(&s.mu)()
	return s.process == nil && !s.ended.IsZero() || s.process != nil && s.process.gone()
}

// end records that the daemon has ended, and schedules its restart.
func (s *service) end(after time.Duration) {
	s.process, s.ended, s.again = nil, time.Now(), time.Now().Add(after)
}

// alive runs do with the daemon, and reports whether there is one.
func (s *service) alive(do func(*process)) bool {
	defer locked(&s.mu)()
	if s.process == nil || s.process.gone() {
		return false
	}
	do(s.process)
	return true
}

// running returns the daemon's process, or nil while it does not run.
func (s *service) running() *process {
	defer locked(&s.mu)()
	return s.process
}

// restart stops the daemon and schedules its restart.
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

// tend restarts the daemon when it is due.
func (s *service) tend() {
	s.mu.Lock()
	if s.process != nil && s.process.gone() {
		s.end(s.process.fate.lasts)
		s.w.journal.note("%s killed", s.name)
	}
	due := s.process == nil && !time.Now().Before(s.again)
	s.mu.Unlock()
	if due {
		s.start()
	}
}
