package metrics

import (
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"slurmflex/flex"
)

// Handler answers with the metrics, and with those of the process. It may be called once.
func (m *Metrics) Handler(log *zap.Logger) http.Handler {
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	complain, _ := zap.NewStdLogAt(log.With(zap.String("path", "/metrics")), zap.ErrorLevel) // which is a level
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: complain})
}

// CheckTextfile returns an error if node_exporter would not read a file of that name. Empty is no file.
func CheckTextfile(path string) error {
	if path != "" && filepath.Ext(path) != ".prom" {
		return fmt.Errorf("--textfile %s: node_exporter reads only files with names that end in .prom", path)
	}
	return nil
}

// WriteTextfile counts a pass with that outcome and writes the metrics for node_exporter, whole or not
// at all. Without a path it does nothing. After a failed pass the old file stays, and shows its age.
func (m *Metrics) WriteTextfile(path string, pass error) error {
	if path == "" || pass != nil && !flex.IsStandby(pass) {
		return nil
	}
	m.stood(pass)
	if err := prometheus.WriteToTextfile(path, m.registry); err != nil {
		return fmt.Errorf("write metrics: %w; make the folder writable for this user, or set another --textfile", err)
	}
	return nil
}
