package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slurmflex/flex/gate"
)

// savedEach is how many seconds a gate saves each machine of its job at least: without
// one slurmctld starts a job 15 to 26 s after its last node has registered. Source: trials
// on 22.05, 24.11 and 26.05.
const savedEach = 15

// gates counts the PrologSlurmctld that have waited for nodes.
type gates struct {
	held   prometheus.Gauge
	opened *prometheus.CounterVec // by outcome
	saved  *prometheus.CounterVec // by nodeset
}

var _ gate.Watcher = (*Metrics)(nil)

func newGates(f promauto.Factory) gates {
	return gates{
		held: f.NewGauge(prometheus.GaugeOpts{
			Name: "slurmflex_gates", Help: "Gates (PrologSlurmctld) that wait for the nodes of their jobs.",
		}),
		opened: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_gates_opened_total", Help: "Gates that have opened, by outcome: up, left, ended, full, unsure or stopped.",
		}, []string{"outcome"}),
		saved: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_gate_saved_seconds_total",
			Help: "Machine-seconds that gates have saved at least: 15 for each machine of a job that started when its nodes were up.",
		}, []string{"nodeset"}),
	}
}

// Gates notes how many gates wait now.
func (m *Metrics) Gates(held int) { m.gates.held.Set(float64(held)) }

// GateOpened counts a gate, and what it has saved if it had to wait for nodes that came up.
func (m *Metrics) GateOpened(why gate.Outcome, nodes []string, cold bool) {
	m.gates.opened.WithLabelValues(string(why)).Inc()
	if why != gate.Up || !cold {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range nodes {
		if set := m.cfg.FlexSetOf(name); set != nil {
			m.gates.saved.WithLabelValues(set.Name).Add(savedEach)
		}
	}
}
