package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/bench/site"
)

// host is a folder with what slurmflex finds on a controller: the programs with
// the hooks' wrapper, the configuration, its private folder, and dummies for
// Slurm's commands.
type host struct {
	dir   string
	build string
}

// newHost makes the host of a cluster of so many nodes, which makes rounds of
// its own accord every interval.
func (b *bench) newHost(nodes int, endpoint string, interval time.Duration) (*host, error) {
	dir, err := os.MkdirTemp(b.dir, "host-")
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir, build: b.build}
	for name, from := range map[string]string{"resume": b.scripts, "slurmflex-hook": b.build, "slurmflex": b.build} {
		if err := os.Symlink(filepath.Join(from, name), h.path(name)); err != nil {
			return nil, err
		}
	}
	for _, folder := range []string{"run", "bin"} {
		if err := os.Mkdir(h.path(folder), 0o700); err != nil {
			return nil, err
		}
	}
	more := fmt.Sprintf("  interval: %s\n  compute_endpoint: %s\n  run_dir: %s\n  log_file: %s\n  http_address: 127.0.0.1:0\nslurm_bin_dir: %s\n",
		interval, endpoint, h.path("run"), h.path("slurmflex.log"), h.path("bin"))
	return h, os.WriteFile(h.path("config.yaml"), []byte(site.Text(nodes, more)), 0o600)
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

// A dummy prints what Slurm's command would print of the queue.
const (
	dummyScontrol = `#!/bin/sh
case "$*" in
*"show nodes"*) cat %[1]s/nodes ;;
*"show reservation"*) echo "No reservations in the system" ;;
*"show partition"*) echo "No partitions in the system" ;;
*"show config"*) printf 'Configuration data as of 2026-11-21T12:00:00\nResumeTimeout           = 65533 sec\nSlurmUser               = bench(%[2]d)\nSLURM_VERSION           = 24.11.5\n' ;;
ping) echo "Slurmctld(primary) at ctl is UP" ;;
esac
`
	dummySqueue = "#!/bin/sh\ncat %s/jobs\n"
)

// dummies puts commands in place that know the queue and change nothing.
func (h *host) dummies(q queue) error {
	for name, content := range map[string][]byte{
		"nodes": site.NodesText(q.Nodes),
		"jobs":  site.JobsText(q.Jobs),
	} {
		if err := os.WriteFile(h.path(name), content, 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(h.path("bin/scontrol"), fmt.Appendf(nil, dummyScontrol, h.dir, os.Geteuid()), 0o700); err != nil {
		return err
	}
	return os.WriteFile(h.path("bin/squeue"), fmt.Appendf(nil, dummySqueue, h.dir), 0o700)
}

// slurmflex prepares a command of slurmflex on that host.
func (h *host) slurmflex(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(h.build, "slurmflex"), append(args, "--config", h.path("config.yaml"))...)
	cmd.Env = []string{"SLURM_CONF=" + h.path("slurm.conf")}
	cmd.Stderr = os.Stderr
	return cmd
}

// resume prepares a call of slurm.conf's ResumeProgram for these jobs and nodes,
// as slurmctld makes it.
func (h *host) resume(ctx context.Context, nodes []string, jobs []slurm.Job) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, h.path("resume"), slurm.Fold(nodes))
	cmd.Env = []string{"SLURM_CONF=" + h.path("slurm.conf"), "SLURM_RESUME_FILE=" + h.path("resume.json")}
	cmd.Stderr = os.Stderr
	return cmd, os.WriteFile(h.path("resume.json"), site.ResumeFile(jobs), 0o600)
}

// call makes such a call.
func (h *host) call(ctx context.Context, nodes []string, jobs []slurm.Job) error {
	cmd, err := h.resume(ctx, nodes, jobs)
	if err != nil {
		return err
	}
	return cmd.Run()
}

// lap is one run of a program under the stopwatch.
type lap struct {
	Took   time.Duration `json:"took"`
	Memory int64         `json:"memory"` // bytes
}

// laps runs a command so many times under the stopwatch.
func (b *bench) laps(ctx context.Context, runs int, cmd *exec.Cmd) (took []time.Duration, memory int64, err error) {
	watch := exec.CommandContext(ctx, filepath.Join(b.build, "stopwatch"), append([]string{fmt.Sprint(runs)}, cmd.Args...)...)
	watch.Env, watch.Stderr = cmd.Env, os.Stderr
	out, err := watch.Output()
	if err != nil {
		return nil, 0, err
	}
	var laps []lap
	if err := json.Unmarshal(out, &laps); err != nil {
		return nil, 0, fmt.Errorf("stopwatch: %w", err)
	}
	for _, l := range laps {
		took, memory = append(took, l.Took), max(memory, l.Memory)
	}
	return took, memory, nil
}
