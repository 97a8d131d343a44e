package chaos

import (
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// machines runs a slurmd on each machine that boots.
type machines struct {
	w   *world
	mu  sync.Mutex
	all map[string]machine // by node name
}

// machine is the latest machine of a node.
type machine struct {
	boot    time.Time // boot time; zero: not running
	left    time.Time // when it ended; zero: it has not
	lease   time.Time // end of its lease; zero: no lease yet
	answers bool      // its slurmd answers
}

// of returns a node's latest machine.
func (m *machines) of(name string) machine {
	defer locked(&m.mu)()
	return m.all[name]
}

func (m *machines) change(name string, change func(*machine)) {
	defer locked(&m.mu)()
	one := m.all[name]
	change(&one)
	m.all[name] = one
}

// boot records a booted machine. Its slurmd starts a little later.
func (m *machines) boot(in fakegce.Instance) {
	if !m.w.known[in.Name] || m.w.isStranger(in) {
		return
	}
	now := time.Now()
	m.change(in.Name, func(one *machine) { one.boot, one.lease = now, in.Terminates })
	m.w.check.after()
	silent := m.w.lasting("mute")
	m.w.journal.note("machine %s boots (mute: %t)", in.Name, silent)
	if silent {
		return
	}
	time.AfterFunc(m.w.dice.span(5*time.Second, 40*time.Second, "slurmd", in.Name, now.UnixNano()), func() {
		if !m.of(in.Name).boot.Equal(now) {
			return
		}
		if m.w.lasting("unhealthy") && m.w.dice.oneIn(2, "health", in.Name, now.UnixNano()) {
			m.failCheck(in.Name)
		}
		m.speak(in.Name)
	})
}

// speak registers a machine's slurmd.
func (m *machines) speak(name string) {
	if boot := m.of(name).boot; !boot.IsZero() {
		m.change(name, func(one *machine) { one.answers = true })
		m.w.slurm.Register(name, boot)
	}
}

// failCheck drains a node, as scripts/health-check does on the node's machine.
func (m *machines) failCheck(name string) {
	if !m.w.setup.checked(setOf(name)) {
		return
	}
	why := "health: gpu: 7 of 8 GPUs"
	m.w.watch.take(name) // a job that waits configuring for it is requeued, or ends
	err := m.w.slurm.UpdateNodes(m.w.ctx, []string{name}, slurm.NodeChange{State: "drain", Reason: why, Comment: &why})
	m.w.journal.note("the health check of %s fails: %v", name, err)
}

// hush silences a machine's slurmd.
func (m *machines) hush(name string) {
	m.change(name, func(one *machine) { one.answers = false })
	m.w.slurm.Silence(name)
}

// leave records that a machine has stopped or is being deleted.
func (m *machines) leave(in fakegce.Instance) {
	if !m.w.known[in.Name] || m.w.isStranger(in) {
		return
	}
	m.w.journal.note("machine %s goes", in.Name)
	m.w.ledger.end(in)
	m.change(in.Name, func(one *machine) { one.boot, one.left = time.Time{}, time.Now() })
	m.hush(in.Name)
}

// silent reports whether a node has a machine without an answering slurmd, or a lost slurmd
// that Slurm still counts on. It allows the slurmd time to start.
func (m *machines) silent(n slurm.Node) bool {
	const start = 45 * time.Second // time for a slurmd to start
	if one := m.of(n.Name); !one.boot.IsZero() {
		return !one.answers && time.Since(one.boot) > start
	}
	return !n.State.Has(slurm.PoweringUp) && !n.State.Has(slurm.PoweredDown) && !n.State.Has(slurm.PoweringDown)
}
