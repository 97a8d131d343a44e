//go:build web

package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

const dashboardFile = "scripts/grafana/slurmflex.json" // scripts/web-test runs the test from the root

// variables replaces Grafana's variables in a panel's query, for a dashboard that shows all data of
// the last minutes.
var variables = strings.NewReplacer("$__rate_interval", "20s", "$__range", "5m", "$instance", ".*", "$nodeset", ".*")

// panel is a panel of a Grafana dashboard, or a row of panels.
type panel struct {
	Title   string
	Targets []struct{ Expr string }
	Panels  []panel
}

// panels returns the dashboard's panels, including those in rows.
func panels(t *testing.T) (all []panel) {
	t.Helper()
	text := must.Get(os.ReadFile(dashboardFile))
	var dashboard panel
	require.NoError(t, json.Unmarshal(text, &dashboard))
	for rows := dashboard.Panels; len(rows) > 0; {
		p := rows[0]
		rows = append(rows[1:], p.Panels...)
		if len(p.Targets) > 0 {
			all = append(all, p)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestEveryDashboardPanelShowsData evaluates each query in a real Prometheus. The
// Prometheus scrapes a cluster with jobs that run, wait, fail and lose a machine, and with a host
// that has maintenance soon.
func TestEveryDashboardPanelShowsData(t *testing.T) {
	l := cluster(t)
	p := startPrometheus(t, l)
	capacity(t, l, 3)
	running := submit(t, l, "-p", "fixed", "-N2", "--wrap", "sleep 300")
	submit(t, l, "-p", "train", "-N4", "--time=2:00:00", "--wrap", "sleep 300")
	require.Eventually(t, func() bool { return state(t, l, running) == "RUNNING" }, 90*time.Second, time.Second)
	lose(t, l, running)
	require.NoError(t, l.Tell(t.Context(), "vms/alpha-st-0/maintenance", map[string]string{"in": "30m", "lasts": "2h"}))

	empty := map[string]string{}
	for _, panel := range panels(t) {
		for i, target := range panel.Targets {
			empty[fmt.Sprintf("%s %d", panel.Title, i+1)] = variables.Replace(target.Expr)
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); len(empty) > 0 && time.Now().Before(deadline); time.Sleep(2 * time.Second) {
		for name, query := range empty {
			if p.shows(t, query) {
				delete(empty, name)
			}
		}
	}
	require.Empty(t, empty, "panels without a value")
}

func state(t *testing.T, l *lab.Lab, job string) string {
	t.Helper()
	out, err := l.Slurm(t.Context(), "squeue", "-h", "-o", "%T", "-j", job)
	require.NoError(t, err)
	return strings.TrimSpace(out)
}

// lose deletes one machine of a running job.
func lose(t *testing.T, l *lab.Lab, job string) {
	t.Helper()
	node, err := l.Slurm(t.Context(), "squeue", "-h", "-o", "%B", "-j", job)
	require.NoError(t, err)
	require.NoError(t, l.Tell(t.Context(), "vms/"+strings.TrimSpace(node)+"/delete", nil))
}

// prometheus is a server that scrapes a lab's daemon every second.
type prometheus struct{ address string }

func startPrometheus(t *testing.T, l *lab.Lab) prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "global: {scrape_interval: 1s}\n"+
		"scrape_configs:\n  - job_name: slurmflex\n    static_configs: [{targets: [%q]}]\n", l.HTTPAddress()), 0o600))
	port := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	p := prometheus{port.Addr().String()}
	require.NoError(t, port.Close())
	server := exec.Command("/usr/bin/prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+p.address)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + p.address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		// Counts from before the first scrape are not an increase.
		return resp.StatusCode == http.StatusOK && p.shows(t, "slurmflex_info")
	}, time.Minute, 100*time.Millisecond, "Prometheus does not start")
	return p
}

// shows reports whether a query has a value at some point in the last minute.
func (p prometheus) shows(t *testing.T, query string) bool {
	t.Helper()
	now := time.Now().Unix()
	resp, err := http.PostForm("http://"+p.address+"/api/v1/query_range", url.Values{
		"query": {query}, "start": {strconv.FormatInt(now-60, 10)}, "end": {strconv.FormatInt(now, 10)}, "step": {"2"},
	})
	require.NoError(t, err)
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Values [][2]any }
		}
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	require.Equal(t, "success", answer.Status, "%s: %s", query, answer.Error)
	for _, series := range answer.Data.Result {
		for _, value := range series.Values {
			text, _ := value[1].(string)
			if number, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(number) {
				return true
			}
		}
	}
	return false
}
