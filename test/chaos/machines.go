package chaos

import (
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// machines runs a slurmd on each machine that the cloud boots.
type machines struct {
	w *world

	mu      sync.Mutex
	boots   map[string]time.Time // of the machines that run
	slurmds map[string]bool      // of those whose slurmd answers
	lefts   map[string]time.Time // when a node's last machine went
	leases  map[string]time.Time // ends of the leases of each node's last machine
}

// boot is a machine that has come up: its slurmd starts a little later.
func (m *machines) boot(in fakegce.Instance) {
	if !m.w.known[in.Name] || m.w.isStranger(in) {
		return
	}
	now := time.Now()
	m.mu.Lock()
	m.boots[in.Name], m.leases[in.Name] = now, in.Terminates
	m.mu.Unlock()
	m.w.check.after()
	silent := m.w.lasting("mute")
	m.w.journal.note("machine %s boots (mute: %t)", in.Name, silent)
	if silent {
		return
	}
	time.AfterFunc(m.w.dice.span(5*time.Second, 40*time.Second, "slurmd", in.Name, now.UnixNano()), func() {
		if m.booted(in.Name).Equal(now) {
			m.speak(in.Name)
		}
	})
}

// speak has a machine's slurmd register.
func (m *machines) speak(name string) {
	boot := m.booted(name)
	if boot.IsZero() {
		return
	}
	m.mu.Lock()
	m.slurmds[name] = true
	m.mu.Unlock()
	m.w.slurm.Register(name, boot)
}

// hush has a machine's slurmd be gone.
func (m *machines) hush(name string) {
	m.mu.Lock()
	delete(m.slurmds, name)
	m.mu.Unlock()
	m.w.slurm.Silence(name)
}

// leave is a machine that has stopped, or is being deleted.
func (m *machines) leave(in fakegce.Instance) {
	if !m.w.known[in.Name] || m.w.isStranger(in) {
		return
	}
	m.w.journal.note("machine %s goes", in.Name)
	m.mu.Lock()
	delete(m.boots, in.Name)
	m.lefts[in.Name] = time.Now()
	m.mu.Unlock()
	m.hush(in.Name)
}

// booted is when a machine booted; zero if it does not run.
func (m *machines) booted(name string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boots[name]
}

// left is when a node's last machine went; zero if none has.
func (m *machines) left(name string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lefts[name]
}

// silent reports whether the node has a machine on which no slurmd answers, and
// has had time to, or a slurmd that Slurm still counts on and that is gone.
func (m *machines) silent(n slurm.Node) bool {
	const start = 45 * time.Second // in which a slurmd starts
	m.mu.Lock()
	defer m.mu.Unlock()
	if boot, there := m.boots[n.Name]; there {
		return !m.slurmds[n.Name] && time.Since(boot) > start
	}
	return !n.State.Has(slurm.PoweringUp) && !n.State.Has(slurm.PoweredDown) && !n.State.Has(slurm.PoweringDown)
}

// answers reports whether a machine's slurmd is there.
func (m *machines) answers(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slurmds[name]
}

// lease is when the lease of a node's last machine ends, or ended; zero if it
// never had one.
func (m *machines) lease(name string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leases[name]
}
