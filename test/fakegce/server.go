package fakegce

import (
	"sync"
	"time"

	"google.golang.org/api/compute/v1"
)

// Server is the fake Compute Engine of one project. It is safe for concurrent use. Callers
// reach it through ServeHTTP, Transport, and the methods that change or inspect the world.
type Server struct {
	opts    Options
	routes  []route
	clock   Clock
	machine map[string]machine

	mu         sync.Mutex
	now        time.Time // of the current event or call
	agenda     agenda
	stopAlarm  func()
	lastID     uint64
	groups     shelf[*group]
	instances  shelf[*vm]
	templates  shelf[*template]
	policies   shelf[*policy]
	operations shelf[*operation]
	repeats    map[string]*operation // by requestId
	capacity   map[stock]int         // maximum number of VMs
	placed     map[stock]int         // existing VMs, except those in reservations
	reserved   map[held]*reservation
	quotas     map[quota]float64 // limits
	usage      map[quota]float64
	running    map[string]int    // operations, by region
	again      map[string]string // hosts that later VMs get, by name
	withdrawn  map[spot]bool     // machine types that a zone lacks
	closed     map[string]bool   // zones that are DOWN
	dead       map[string]bool   // zones that do not answer
	faults     []*armedFault
	journal    journal
	remembers  bool // past states are kept for lagging lists

	hookMu  sync.Mutex
	hooks   []func() // pending calls
	hooking bool
}

// New returns a fake of an empty project.
func New(opts Options) *Server {
	opts = opts.filled()
	s := &Server{
		opts: opts, routes: routes(handlers()), clock: opts.Clock, machine: machines(),
		stopAlarm: func() {},
		repeats:   make(map[string]*operation),
		capacity:  make(map[stock]int),
		placed:    make(map[stock]int),
		reserved:  make(map[held]*reservation),
		quotas:    make(map[quota]float64),
		usage:     make(map[quota]float64),
		running:   make(map[string]int),
		withdrawn: make(map[spot]bool),
		closed:    make(map[string]bool),
		dead:      make(map[string]bool),
		journal:   journal{counts: make(map[string]int)},
	}
	s.now = s.clock.Now()
	return s
}

// Advance moves the clock forward by d. Before it returns, it runs every event that is due, in
// order and each at its own time.
func (s *Server) Advance(d time.Duration) {
	s.clock.Advance(d)
	s.do(func() {})
}

// do runs act in the present world: events due earlier run before act, and events that act
// makes due at once run before do returns. act must not block.
func (s *Server) do(act func()) {
	s.mu.Lock()
	s.catchUp()
	act()
	s.catchUp()
	s.remember()
	s.setAlarm()
	s.mu.Unlock()
	s.callHooks()
}

// catchUp runs every event that is due.
func (s *Server) catchUp() {
	now := s.clock.Now()
	if now.Before(s.now) { // the wall clock was set back
		now = s.now
	}
	for at, ok := s.agenda.next(); ok && !at.After(now); at, ok = s.agenda.next() {
		s.now = at
		s.agenda.pop().run()
	}
	s.now = now
}

// after schedules an event.
func (s *Server) after(d time.Duration, run func()) { s.agenda.add(s.now.Add(max(d, 0)), run) }

// setAlarm makes the clock wake the server for its next event.
func (s *Server) setAlarm() {
	s.stopAlarm()
	s.stopAlarm = func() {}
	if at, ok := s.agenda.next(); ok {
		s.stopAlarm = s.clock.AfterFunc(at.Sub(s.now), func() { s.do(func() {}) })
	}
}

// hook queues a call of one of the owner's hooks. The call runs after the server's lock is
// released.
func (s *Server) hook(f func(Instance), v *vm) {
	if f == nil {
		return
	}
	instance := v.snapshot()
	s.hookMu.Lock()
	defer s.hookMu.Unlock()
	s.hooks = append(s.hooks, func() { f(instance) })
}

// callHooks runs the queued hooks one at a time. If another goroutine is already running them,
// or a hook called the server, the earlier callHooks also runs the new ones.
func (s *Server) callHooks() {
	s.hookMu.Lock()
	defer s.hookMu.Unlock()
	if s.hooking {
		return
	}
	s.hooking = true
	defer func() { s.hooking = false }()
	for len(s.hooks) > 0 {
		next := s.hooks[0]
		s.hooks = s.hooks[1:]
		s.hookMu.Unlock()
		next()
		s.hookMu.Lock()
	}
}

// newID returns the next resource ID: 19 digits, like Google's.
func (s *Server) newID() uint64 {
	s.lastID++
	return 1_000_000_000_000_000_000 + s.lastID*7919
}

const (
	apiRoot       = "https://www.googleapis.com/compute/v1/"
	projectNumber = "123456789012"
)

// timeFormat is Google's time format: RFC 3339 with milliseconds in Google's local time zone,
// not UTC.
const timeFormat = "2006-01-02T15:04:05.000-07:00"

func stamp(t time.Time) string {
	return t.In(time.FixedZone("", -7*60*60)).Format(timeFormat)
}

func seconds(d *compute.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos)
}
