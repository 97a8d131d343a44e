package gke

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// measures are the gateway's metrics.
type measures struct {
	registry *prometheus.Registry
	calls    *prometheus.HistogramVec
	passes   prometheus.Histogram
	live     prometheus.Gauge
	groups   prometheus.Gauge
}

func newMeasures() *measures {
	m := &measures{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slurmflex_gke_call_seconds", Help: "Time to answer a call of slurmflex.",
		}, []string{"method", "status"}),
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "slurmflex_gke_pass_seconds", Help: "Duration of a complete pass."}),
		live:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "slurmflex_gke_live_requests", Help: "Requests that wait for nodes."}),
		groups: prometheus.NewGauge(prometheus.GaugeOpts{Name: "slurmflex_gke_groups", Help: "Groups, with those that are being deleted."}),
	}
	m.registry.MustRegister(m.calls, m.passes, m.live, m.groups)
	return m
}

func (m *measures) call(method string, status int, took time.Duration) {
	m.calls.WithLabelValues(method, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *measures) pass(took time.Duration, live, groups int) {
	m.passes.Observe(took.Seconds())
	m.live.Set(float64(live))
	m.groups.Set(float64(groups))
}

// Watch returns the handler of /metrics and /healthz.
func (g *Gateway) Watch() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g.measures.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := g.Healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
