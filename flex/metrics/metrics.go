// Package metrics exports to Prometheus what reconcile passes observe and do. docs/reference.md
// explains each metric. The names are stable. Counters and histograms start at 0 with each process.
package metrics

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Metrics holds all counters and gauges. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	cfg      *config.Config
	now      func() time.Time

	actions       *prometheus.CounterVec   // by kind and outcome
	failures      *prometheus.CounterVec   // by cause
	lastFailure   *prometheus.GaugeVec     // by cause
	apiCalls      *prometheus.CounterVec   // by method and code
	apiTime       *prometheus.HistogramVec // by method
	slurmCommands *prometheus.CounterVec   // by command and outcome
	slurmTime     *prometheus.HistogramVec // by command
	passes        *prometheus.CounterVec   // by outcome
	passTime      prometheus.Observer
	interval      prometheus.Gauge
	configRead    prometheus.Gauge
	lastGood      prometheus.Gauge
	sight         atomic.Pointer[gauges] // of the last pass; nil before it, and on standby

	mu     sync.Mutex // guards the fields below
	events events
	begun  time.Time // start of the last pass that read anything
}

// The outcomes of actions, passes and commands.
const (
	done    = "done"
	failed  = "failed"
	standby = "standby" // of a pass: another controller's host reconciles
)

// causeSlurm is the cause of a failure that is not the cloud's.
const causeSlurm mig.Cause = "slurm"

// factory makes metrics and registers them.
type factory struct{ promauto.Factory }

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (f factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// New registers the metrics of a process that starts now. version is the version of the process.
func New(r *prometheus.Registry, cfg *config.Config, version string, now func() time.Time) *Metrics {
	f := factory{promauto.With(r)}
	m := &Metrics{
		registry: r, cfg: cfg, now: now,
		actions: f.counter("slurmflex_actions_total",
			"Finished actions, such as create_request. use_reservation: a pending job starts or stops using its reservation; signal_job, requeue_job: its lease ends before its time limit.",
			"kind", "outcome"),
		failures: f.counter("slurmflex_failures_total", "Resize requests and actions that failed.", "cause"),
		lastFailure: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "slurmflex_last_failure_timestamp_seconds",
			Help: "Time of the last failure of an action, request or attempt by this cause; 0 if none.",
		}, []string{"cause"}),
		apiCalls:      f.counter("slurmflex_api_calls_total", "Calls to Compute, each retry included, by HTTP status code or none.", "method", "code"),
		apiTime:       f.histogram("slurmflex_api_call_duration_seconds", "Duration of calls to Compute.", []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}, "method"),
		slurmCommands: f.counter("slurmflex_slurm_commands_total", "Slurm commands run, such as scontrol update.", "command", "outcome"),
		slurmTime: f.histogram("slurmflex_slurm_command_duration_seconds",
			"Duration of Slurm commands.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "command"),
		passes: f.counter("slurmflex_passes_total", "Reconcile passes by outcome.", "outcome"),
		passTime: f.histogram("slurmflex_pass_duration_seconds",
			"Duration of reconcile passes and the actions that they wait for.",
			[]float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}).WithLabelValues(),
		lastGood: f.NewGauge(prometheus.GaugeOpts{
			Name: "slurmflex_last_good_pass_timestamp_seconds",
			Help: "Time of the last successful pass, here or, as far as known, on another controller; 0 if none.",
		}),
		events: newEvents(f),
	}
	f.NewGaugeVec(prometheus.GaugeOpts{
		Name: "slurmflex_info", Help: "Always 1, with the cluster and version as labels.",
	}, []string{"cluster", "version"}).WithLabelValues(cfg.Cluster, version).Set(1)
	m.interval = f.NewGauge(prometheus.GaugeOpts{
		Name: "slurmflex_pass_interval_seconds", Help: "Configured interval between reconcile passes.",
	})
	m.configRead = f.NewGauge(prometheus.GaugeOpts{
		Name: "slurmflex_config_valid", Help: "1 if the configuration file is valid, 0 if the daemon keeps an earlier one.",
	})
	m.ConfigRead(true)
	m.begin()
	r.MustRegister(prometheus.CollectorFunc(m.collect))
	return m
}

// Use makes another configuration apply from now on.
func (m *Metrics) Use(cfg *config.Config) {
	m.mu.Lock()
	m.cfg = cfg
	m.mu.Unlock()
	m.begin()
}

// ConfigRead notes whether the configuration file is valid.
func (m *Metrics) ConfigRead(valid bool) {
	m.configRead.Set(0)
	if valid {
		m.configRead.Set(1)
	}
}

// begin creates the counters, because Prometheus sees no increase in a counter that first appears
// with 1.
func (m *Metrics) begin() {
	for _, kind := range action.Kinds() {
		for _, outcome := range []string{done, failed} {
			m.actions.WithLabelValues(kind, outcome)
		}
	}
	for _, cause := range append(mig.Causes(), causeSlurm) {
		m.failures.WithLabelValues(string(cause))
		m.lastFailure.WithLabelValues(string(cause))
	}
	for _, outcome := range []string{done, failed, standby} {
		m.passes.WithLabelValues(outcome)
	}
	m.interval.Set(m.cfg.Options.Interval.Seconds())
	for _, set := range m.cfg.FlexSets() {
		m.events.begin(set.Name)
	}
}

// Watcher returns what the metrics must see of the passes.
func (m *Metrics) Watcher() flex.Watcher { return flex.Watcher{Saw: m.saw, Did: m.did, Stood: m.stood} }

// saw records the observation of a pass.
func (m *Metrics) saw(s *scene.Scene, p plan.Plan) {
	m.sight.Store(see(s, p))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = s.Seen.Begun
	m.events.spend(s)
	m.events.lose(s, p.Losses)
	for _, g := range s.Seen.Groups {
		if n := len(g.Requests); n > 0 && fails(g.Requests[n-1]) {
			m.noteFailure(g.Requests[n-1].Cause)
		}
	}
}

// fails reports whether a request has failed, or waits because its last attempt has failed. Compute
// reports a request that exceeds a quota as waiting.
func fails(r mig.Request) bool {
	return r.State == mig.Failed || r.State.Live() && r.Cause != mig.CauseNone
}

// noteFailure records a failure with that cause at the present time.
func (m *Metrics) noteFailure(cause mig.Cause) {
	m.lastFailure.WithLabelValues(string(cause)).Set(seconds(m.now()))
}

// did counts an action.
func (m *Metrics) did(a action.Action, _ time.Time, _ time.Duration, err error) {
	outcome := done
	if err != nil {
		outcome = failed
		cause := causeOf(err)
		m.failures.WithLabelValues(string(cause)).Inc()
		m.noteFailure(cause)
	}
	m.actions.WithLabelValues(action.About(a).Kind, outcome).Inc()
}

// causeOf returns the cause of an action's failure.
func causeOf(err error) mig.Cause {
	var cloud *mig.Error
	if errors.As(err, &cloud) {
		return cloud.Cause
	}
	return causeSlurm
}

// stood counts a pass. If another host reconciles, this host's observations are outdated and are
// forgotten.
func (m *Metrics) stood(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcome := done
	switch {
	case flex.IsStandby(err):
		outcome = standby
		m.sight.Store(nil)
		m.events.forget()
	case err != nil:
		outcome = failed
	default:
		m.passTime.Observe(m.now().Sub(m.begun).Seconds())
	}
	if outcome != failed {
		m.lastGood.Set(seconds(m.now()))
	}
	m.passes.WithLabelValues(outcome).Inc()
}

// Called counts a call to Compute; see gce.Options. Nil metrics, which are those of a process
// without passes, count nothing.
func (m *Metrics) Called(method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	code := "none"
	if status != 0 {
		code = strconv.Itoa(status)
	}
	m.apiCalls.WithLabelValues(method, code).Inc()
	m.apiTime.WithLabelValues(method).Observe(took.Seconds())
}

// Ran counts a Slurm command; see scontrol.Client.
func (m *Metrics) Ran(command string, took time.Duration, err error) {
	if m == nil {
		return
	}
	outcome := done
	if err != nil {
		outcome = failed
	}
	m.slurmCommands.WithLabelValues(command, outcome).Inc()
	m.slurmTime.WithLabelValues(command).Observe(took.Seconds())
}

// seconds returns a time in the format of Prometheus.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
