package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/metrics"
)

// measures are the metrics of this process. The zero value is of one that does not
// reconcile, and counts nothing.
type measures struct {
	*metrics.Metrics
	registry *prometheus.Registry
}

func newMeasures(cfg *config.Config) measures {
	registry := prometheus.NewRegistry()
	return measures{metrics.New(registry, cfg, thisBuild().Version, time.Now), registry}
}

// called counts a call to Compute.
func (m measures) called(method string, status int, took time.Duration) {
	if m.Metrics != nil {
		m.Called(method, status, took)
	}
}

// ran counts a command of Slurm's.
func (m measures) ran(command string, took time.Duration, err error) {
	if m.Metrics != nil {
		m.Ran(command, took, err)
	}
}

// handler is what /metrics answers: the metrics, and those of the process.
func (m measures) handler(log *zap.Logger) http.Handler {
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	complain, err := zap.NewStdLogAt(log.With(zap.String("path", "/metrics")), zapcore.ErrorLevel)
	if err != nil { // only if the level were none
		complain = zap.NewStdLog(zap.NewNop())
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: complain})
}

// textfile is the file that node_exporter reads metrics from; empty: none.
type textfile string

// flag adds --textfile to a command, which refuses a name that node_exporter
// would not read.
func (f *textfile) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "textfile", "", "write metrics into this `file` for node_exporter, such as /var/lib/prometheus/node-exporter/slurmflex.prom")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *f != "" && filepath.Ext(string(*f)) != ".prom" {
			return usageError{fmt.Errorf("--textfile %s: node_exporter only reads files whose names end in .prom", *f)}
		}
		return nil
	}
}

// write counts a pass with that outcome and writes the file, whole or not at all.
// After a failed pass the old file stays, and shows its age.
func (m measures) write(file textfile, pass error) error {
	if file == "" || pass != nil && !errors.Is(pass, flex.ErrStandby) {
		return nil
	}
	m.Stood(pass)
	if err := prometheus.WriteToTextfile(string(file), m.registry); err != nil {
		return fmt.Errorf("write metrics: %w; make the folder writable for this user, or give another --textfile", err)
	}
	return nil
}
