package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/test/fakegce"
)

const (
	configFile = "/etc/slurmflex/config.yaml"
	resume     = "/usr/libexec/slurmflex/resume"
)

// used checks that what a package has put there works.
func (t *trial) used(manager string) {
	t.says("slurmflex version names its commit", 0, []string{"slurmflex v", "\ncommit    ", "\ndate      20", "\ncompute   cloud.google.com/go/compute v"}, "slurmflex", "version")
	t.says("the manual is found", 0, []string{"/usr/share/man/man1/slurmflex.1.gz"}, "man", "-w", "slurmflex")
	t.says("the manual can be read", 0, []string{"EXIT STATUS", "SLURMFLEX-CONFIG-CHECK(1)"}, "env", "MANWIDTH=200", "man", "slurmflex-config-check", "slurmflex")
	t.says("bash completes commands", 0, []string{"complete -o default -F __start_slurmflex slurmflex"}, "bash", "-c",
		". /usr/share/bash-completion/bash_completion; _completion_loader slurmflex; complete -p slurmflex")
	t.says("a shell can complete flags", 0, []string{"--watch"}, "slurmflex", "__complete", "status", "--w")
	zsh := map[string]string{"dpkg": "vendor-completions", "rpm": "site-functions"}[manager]
	t.says("the completions of zsh and fish are there", 0, nil, "grep", "-q", "slurmflex __complete",
		"/usr/share/fish/vendor_completions.d/slurmflex.fish", "-e", "#compdef", "/usr/share/zsh/"+zsh+"/_slurmflex")
	t.says("the example of the configuration is right", 0, []string{"OK: cluster alpha"},
		"slurmflex", "--config", "/usr/share/doc/slurmflex/examples/config.yaml", "config", "check")

	t.says("without a configuration a hook says which it wants", 2, []string{configFile, "no such file"}, asSlurm(resume, "alpha-a3-0")...)
	t.check("a wrong one can be written", t.root.write(configFile, "project: [\n", 0o644))
	t.hookComplainsInOneLine()

	site, err := startSite(t.ctx, t.root)
	if err != nil {
		t.check("a cluster can be had", err)
		return
	}
	defer site.stop()
	t.says("slurm.conf is to name what was installed", 0,
		[]string{"ResumeProgram=" + resume, "SuspendProgram=/usr/libexec/slurmflex/suspend", "ResumeFailProgram=/usr/libexec/slurmflex/resume-fail"},
		asSlurm("/usr/bin/slurmflex", "config", "slurm-conf", "--slurm-version", "24.11", "--machine", "a3=a3-megagpu-8g")...)
	t.check("the daemon runs as slurm and is healthy", site.startDaemon(t.ctx))
	t.check("hooks hand over to the daemon, and say nothing", t.silent(asSlurm(resume, "alpha-a3-0")))
	t.says("any user may ask the daemon", 0, []string{"alpha", "a3"}, "setpriv", "--reuid", "nobody", "--clear-groups", "slurmflex", "status")
	t.check("the daemon ends when it is told to", site.stopDaemon())
	t.says("the daemon has left no socket", 1, nil, "test", "-e", "/run/slurmflex/slurmflex.sock")
	t.says("sync makes a round without the daemon", 0, nil, asSlurm("/usr/bin/slurmflex", "sync")...)
}

// asSlurm is a command with SlurmUser's rights and Slurm's empty environment.
func asSlurm(words ...string) []string {
	return append([]string{"setpriv", "--reuid", "slurm", "--regid", "slurm", "--init-groups", "env", "-i"}, words...)
}

func (t *trial) hookComplainsInOneLine() {
	text, err := t.root.run(t.ctx, 2, asSlurm(resume, "alpha-a3-0")...)
	if err == nil && (strings.Count(text, "\n") != 1 || !strings.Contains(text, configFile)) {
		err = fmt.Errorf("it says: %q", text)
	}
	t.check("with a wrong configuration a hook says in one line where", err)
}

// silent checks that a command in the root ends well and prints nothing.
func (t *trial) silent(command []string) error {
	text, err := t.root.run(t.ctx, 0, command...)
	if err == nil && text != "" {
		err = fmt.Errorf("it says: %q", text)
	}
	return err
}

// site is a cluster around the root's slurmflex: Slurm's commands are dummies
// for nodes that are powered down, and Compute is the fake.
type site struct {
	root    root
	address string // of the daemon's HTTP server
	compute *http.Server
	daemon  *exec.Cmd
	log     bytes.Buffer
}

const siteConfig = `slurm_cluster_name: alpha
project: demo
slurm_bin_dir: BIN
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 2
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {use_job_duration: true}
slurmflex:
  compute_endpoint: http://COMPUTE
  http_address: ADDRESS
`

// scontrol knows of nodes only.
const scontrol = `#!/bin/sh
case "$*" in
*reservation) echo "No reservations in the system" ;;
*partition) echo "No partitions in the system" ;;
*config) printf 'Configuration data as of 2026-11-21T12:00:00\nResumeTimeout           = 300 sec\nSLURM_VERSION           = 24.11.5\nSlurmUser               = slurm(%s)\n' "$(id -u slurm)" ;;
ping) echo "Slurmctld(primary) at ctl1 is UP" ;;
*"show nodes"*) cat "${0%/*}/nodes" ;;
*) echo "a dummy knows no $*" >&2; exit 1 ;;
esac
`

// startSite starts the fake Compute and writes the root's configuration.
func startSite(ctx context.Context, r root) (*site, error) {
	cloud := fakegce.New(fakegce.Options{Project: "demo"})
	if _, err := cloud.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-megagpu-8g")); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{root: r, compute: &http.Server{Handler: cloud, ReadHeaderTimeout: time.Minute}}
	go func() { _ = s.compute.Serve(listener) }() // until stop closes it
	if s.address, err = freeAddress(ctx); err != nil {
		return s, err
	}
	bin := filepath.Join(r.shared, "bin")
	nodes, err := poweredDown()
	if err != nil {
		return s, err
	}
	config := strings.NewReplacer("BIN", bin, "COMPUTE", listener.Addr().String(), "ADDRESS", s.address).Replace(siteConfig)
	return s, errors.Join(
		os.MkdirAll(bin, 0o755),
		os.WriteFile(filepath.Join(bin, "scontrol"), []byte(scontrol), 0o755),
		os.WriteFile(filepath.Join(bin, "squeue"), []byte("#!/bin/sh\n"), 0o755),
		os.WriteFile(filepath.Join(bin, "nodes"), []byte(nodes), 0o644),
		r.write(configFile, config, 0o644),
	)
}

// poweredDown is what a real scontrol says of the site's nodes.
func poweredDown() (string, error) {
	records, err := os.ReadFile("slurm/testdata/24.11.5/00-powered-down.nodes.txt")
	if err != nil {
		return "", err
	}
	record, _, _ := strings.Cut(string(records), "\n")
	all := ""
	for _, name := range []string{"alpha-a3-0", "alpha-a3-1"} {
		all += strings.NewReplacer("NodeName=f0 ", "NodeName="+name+" ", "NodeHostName=f0 ", "NodeHostName="+name+" ").Replace(record) + "\n"
	}
	return all, nil
}

// freeAddress is one that nobody listens on now.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startDaemon starts the daemon as the unit does and waits until a round was
// made.
func (s *site) startDaemon(ctx context.Context) error {
	s.daemon = s.root.command(ctx, asSlurm("/usr/bin/slurmflex", "--config", configFile, "daemon")...)
	s.daemon.Stderr = &s.log
	if err := s.daemon.Start(); err != nil {
		return err
	}
	for last := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := errors.Join(s.answers(ctx, "/healthz", "ok, cluster alpha\n"), s.answers(ctx, "/metrics", `slurmflex_rounds_total{outcome="done"}`))
		if err == nil || ctx.Err() != nil || time.Now().After(last) {
			return err
		}
	}
}

// answers checks that the daemon answers with those words.
func (s *site) answers(ctx context.Context, path, words string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(body), words)) {
		err = fmt.Errorf("%s answers %s: %.200s", path, answer.Status, body)
	}
	return err
}

func (s *site) stopDaemon() error {
	if s.daemon == nil {
		return errors.New("it does not run")
	}
	daemon := s.daemon
	s.daemon = nil
	if err := daemon.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	if err := daemon.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, oneLine(s.log.Bytes()))
	}
	return nil
}

// stop ends what of the site still runs.
func (s *site) stop() {
	if s.daemon != nil {
		_ = s.stopDaemon() // what was wrong with it is known
	}
	_ = s.compute.Close()
}
