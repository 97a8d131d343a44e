// Package lab sets up a whole cluster in one directory for the end-to-end tests and the demo: a
// private slurmctld, a slurmd for every VM, the fake Compute API in its own process, and the built
// slurmflex between them. Labs do not disturb each other or a Slurm that runs on the machine.
package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/slurm"
	"slurmflex/test/fakegce/remote"
	"slurmflex/test/must"
)

// Options describes the cluster.
type Options struct {
	Build          string    // folder of the built programs
	Scripts        string    // folder of the hooks' wrappers
	Name           string    // of the cluster's temporary folder: slurmflex-NAME-…
	User           string    // user of slurmctld and slurmflex; empty: root
	ResumeTimeout  int       // s; 0: the value that slurmflex writes
	SuspendTimeout int       // s; 0: 5
	SuspendTime    int       // s, of the partitions of NodeSets; 0: as slurmflex writes it
	Backfill       int       // s between passes of backfill; 0: 2
	CPUs           int       // per node; 0: those of the machine type
	LongJobs       bool      // partitions accept jobs that are longer than their leases
	NoHooks        bool      // slurm.conf names programs that do nothing
	Daemon         bool      // whether a daemon runs
	Configuring    bool      // whether jobs wait CONFIGURING even with a daemon
	Accounting     bool      // whether slurmctld has a slurmdbd; slurmctld then runs as root
	Limits         bool      // whether slurmdbd enforces the limits of accounts and QOS
	Static         int       // static nodes, alpha-st-0 …; at most 2
	NodeSets       []NodeSet // besides a3 and g2; at most 6, with 64 slurmds
	Partitions     []string  // besides those of the nodesets, such as "all: {partition_name: all, partition_nodeset: [a3, g2]}"
	Margin         int       // a3's job_duration_margin in s
	FlexKeys       string    // more keys for the dws_flex blocks of a3, g2 and st, such as "boot_timeout: 60"
	HealthCheck    int       // s between runs of scripts/health-check on each node; 0: it does not run
	Keys           string    // another key of the slurmflex section, such as "max_active_requests: 1"
}

// NodeSet is a further nodeset with a template and a partition of the same name.
type NodeSet struct {
	Name     string
	Machine  string   // of its template; empty: the scenario creates the template
	Size     int      // nodes; with more than 16, mute them, because they share one slurmd port
	Shared   bool     // whether jobs share the nodes of its partition
	Static   int      // how many of its nodes are static
	Keys     []string // more keys, such as "enable_placement: true"
	FlexKeys string   // keys of its dws_flex block
	Capacity string   // replaces the dws_flex block, such as "spot"
	Region   string   // of another program than the fake Compute API; empty: us-central1
}

// Dynamic returns how many of the nodeset's nodes are dynamic.
func (s NodeSet) Dynamic() int { return s.Size - s.Static }

// CPUs returns the number of CPUs for the nodeset's node_conf: the lab's, or one if the machine
// type is not known yet. 0: use the machine type's.
func (s NodeSet) CPUs(wanted int) int {
	if s.Machine == "" {
		return max(wanted, 1)
	}
	return wanted
}

// Lab is a running cluster.
type Lab struct {
	Options
	Dir      string        // the cluster's folder
	Version  slurm.Version // Slurm's version
	Endpoint string        // the Compute API's address
	port     int
	release  func()
	cred     *syscall.Credential
	daemon   *exec.Cmd
	fake     *remote.Fake
}

// Start sets the cluster up. The caller must call Stop or Remove even if Start fails.
func Start(ctx context.Context, o Options) (*Lab, error) {
	l := &Lab{Options: o}
	err := must.Try(func() { l.start(ctx) })
	return l, err
}

func (l *Lab) start(ctx context.Context) {
	if os.Geteuid() != 0 {
		must.Do(errors.New("a lab needs root: slurmd sets the user of a job's processes"))
	}
	l.Version = must.Get(SlurmVersion(ctx))
	unix.Umask(0o022) // processes of other users work in the folder, whatever the caller's umask
	l.Dir = must.Get(os.MkdirTemp("", "slurmflex-"+l.Name+"-"))
	must.Do(os.Chmod(l.Dir, 0o755))
	var err error
	l.port, l.release, err = claimPorts()
	must.Do(err)
	l.makeFolders()
	l.writePrograms(ctx)
	l.startFake()
	l.writeFiles(ctx)
	if l.Accounting {
		l.startAccounting(ctx)
	}
	must.Get(l.run(ctx, l.cred, "slurmctld", "-c"))
	must.Do(l.AwaitSlurmctld(ctx))
	if l.Daemon {
		must.Do(l.StartDaemon(ctx))
	}
	if l.Daemon && !l.Configuring { // the daemon keeps jobs off powered-down nodes
		must.Do(l.awaitSays(ctx, ".cover-", "show", "reservation"))
	}
}

// awaitSays waits until scontrol prints a text.
func (l *Lab) awaitSays(ctx context.Context, text string, args ...string) error {
	return Until(ctx, time.Minute, fmt.Sprintf("scontrol %s to print %s", args, text), func() (bool, error) {
		out, err := l.Slurm(ctx, "scontrol", args...)
		return err == nil && strings.Contains(out, text), nil
	})
}

// AwaitSlurmctld waits until slurmctld answers.
func (l *Lab) AwaitSlurmctld(ctx context.Context) error { return l.awaitSays(ctx, "is UP", "ping") }

// Restart shuts slurmctld down cleanly and starts it again.
func (l *Lab) Restart(ctx context.Context) error {
	return must.Try(func() {
		must.Get(l.Slurm(ctx, "scontrol", "shutdown", "slurmctld"))
		must.Do(Until(ctx, time.Minute, "slurmctld to have ended", func() (bool, error) {
			_, err := os.Stat(l.path("state/ctld.pid"))
			return os.IsNotExist(err), nil
		}))
		must.Get(l.Slurm(ctx, "slurmctld"))
		must.Do(l.AwaitSlurmctld(ctx))
	})
}

func (l *Lab) makeFolders() {
	for _, d := range []string{"bin/none", "dev", "etc", "state", "log", "run", "spool", "history"} {
		must.Do(os.MkdirAll(l.path(d), 0o755))
	}
	must.Do(os.Chmod(l.path("run"), 0o700)) // required by the socket in this folder
	if l.User == "" {
		return
	}
	l.cred = must.Get(Credential(l.User))
	for _, d := range []string{"state", "log", "run", "history"} {
		must.Do(os.Chown(l.path(d), int(l.cred.Uid), int(l.cred.Gid)))
	}
}

// Credential returns the credential of a user of this machine.
func Credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	var c syscall.Credential
	_, err = fmt.Sscan(u.Uid+" "+u.Gid, &c.Uid, &c.Gid)
	return &c, err
}

// Conf returns the path of slurm.conf.
func (l *Lab) Conf() string { return l.path("etc/slurm.conf") }

// Config returns the path of slurmflex's configuration.
func (l *Lab) Config() string { return l.path("bin/config.yaml") }

// HTTPAddress returns the address of the daemon's HTTP server.
func (l *Lab) HTTPAddress() string { return fmt.Sprintf("127.0.0.1:%d", l.port+2) }

// Log returns the path of a log file.
func (l *Lab) Log(name string) string { return l.path("log/" + name) }

func (l *Lab) path(name string) string { return filepath.Join(l.Dir, name) }

// Slurm runs one of Slurm's commands against this cluster and returns its standard output.
func (l *Lab) Slurm(ctx context.Context, command string, args ...string) (string, error) {
	return l.run(ctx, nil, command, args...)
}

// Flex runs slurmflex with this cluster's configuration, as slurmctld's user.
func (l *Lab) Flex(ctx context.Context, args ...string) (string, error) {
	return l.run(ctx, l.cred, l.path("bin/slurmflex"), append([]string{"--config", l.Config()}, args...)...)
}

// Command prepares slurmflex as Flex runs it, with additional environment variables.
func (l *Lab) Command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := l.command(ctx, l.cred, l.path("bin/slurmflex"), append([]string{"--config", l.Config()}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// Client prepares one of Slurm's commands, such as salloc, to run in parallel with others.
func (l *Lab) Client(ctx context.Context, command string, args ...string) *exec.Cmd {
	return l.command(ctx, nil, command, args...)
}

func (l *Lab) command(ctx context.Context, cred *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{"SLURM_CONF=" + l.Conf(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TZ=UTC"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setsid: true}
	cmd.WaitDelay = 10 * time.Second // on a busy machine, its output may be read late
	return cmd
}

func (l *Lab) run(ctx context.Context, cred *syscall.Credential, name string, args ...string) (string, error) {
	cmd := l.command(ctx, cred, name, args...)
	// It writes to files, because a daemon would keep a pipe open.
	var outputs [2]*os.File
	for i := range outputs {
		outputs[i] = must.Get(os.CreateTemp("", "slurmflex-lab-"))
		defer os.Remove(outputs[i].Name())
		defer outputs[i].Close()
	}
	cmd.Stdout, cmd.Stderr = outputs[0], outputs[1]
	err := cmd.Run()
	stdout, stderr := string(must.Get(os.ReadFile(outputs[0].Name()))), string(must.Get(os.ReadFile(outputs[1].Name())))
	if err != nil {
		return stdout, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr+stdout))
	}
	return stdout, nil
}

// StartDaemon starts slurmflex's daemon and waits until hooks can reach it.
func (l *Lab) StartDaemon(ctx context.Context) error {
	log, err := os.OpenFile(l.Log("daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	l.daemon = l.command(context.WithoutCancel(ctx), l.cred, l.path("bin/slurmflex"), "--config", l.Config(), "daemon")
	l.daemon.Stdout, l.daemon.Stderr = log, log
	if err := l.daemon.Start(); err != nil {
		return fmt.Errorf("start daemon: %w", err)
	}
	return Until(ctx, time.Minute, "the daemon to listen", func() (bool, error) {
		_, err := os.Stat(l.path("run/slurmflex.sock"))
		return err == nil, nil
	})
}

// StopDaemon stops the daemon as systemd does.
func (l *Lab) StopDaemon() error {
	if l.daemon == nil {
		return nil
	}
	if err := l.daemon.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	err := l.daemon.Wait()
	l.daemon = nil
	return err
}

// KillDaemon kills the daemon immediately.
func (l *Lab) KillDaemon() error {
	if err := l.daemon.Process.Kill(); err != nil {
		return err
	}
	_ = l.daemon.Wait() // it reports the kill
	l.daemon = nil
	return nil
}

// Remove stops the cluster and removes its folder.
func (l *Lab) Remove() {
	l.Stop()
	if l.Dir != "" {
		_ = os.RemoveAll(l.Dir)
	}
}

// Stop kills all processes of the cluster. It leaves the folder.
func (l *Lab) Stop() {
	if l.Dir == "" {
		return // it was never set up
	}
	// A process may just be starting another: from 23.11 on, slurmctld restarts itself on
	// reconfigure.
	for quiet, left := 0, 50; quiet < 5 && left > 0; left-- {
		quiet++
		for _, pid := range l.processes() {
			_ = unix.Kill(pid, unix.SIGKILL)
			quiet = 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	if l.daemon != nil {
		_ = l.daemon.Wait()
	}
	if l.fake != nil {
		l.fake.Stop()
	}
	if l.release != nil {
		l.release()
	}
}

// daemons lists the cluster's programs that do not have its folder in their command line.
var daemons = []string{"slurmctld", "slurmscriptd", "slurmd", "slurmdbd", "slurmstepd", "slurmflex"}

// debian is the suffix of Debian's program names. The kernel shows it for a slurmctld that has
// restarted itself.
const debian = "-wlm"

// processes returns the cluster's processes: programs with its folder in their command line, and
// daemons with its folder in their environment. A user's shell with SLURM_CONF in its environment
// does not count.
func (l *Lab) processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		has := func(file string) bool {
			text, err := os.ReadFile(filepath.Join("/proc", e.Name(), file))
			return err == nil && bytes.Contains(text, []byte(l.Dir+"/"))
		}
		name, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		if has("cmdline") || slices.Contains(daemons, strings.TrimSuffix(strings.TrimSpace(string(name)), debian)) && has("environ") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// SlurmVersion returns the version of the slurmctld that labs start.
func SlurmVersion(ctx context.Context) (slurm.Version, error) {
	out, err := exec.CommandContext(ctx, "/usr/sbin/slurmctld", "-V").Output()
	if err != nil {
		return slurm.Version{}, fmt.Errorf("slurmctld -V: %w", err)
	}
	return slurm.ParseVersion(string(out))
}

// copyProgram copies a program to the path that the cluster's hooks expect, executable by all
// users. Another process writes the copy, because a program that is open for writing cannot be
// started.
func copyProgram(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "/usr/bin/install", "--mode=755", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", filepath.Base(from), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Until polls until the answer is yes, and fails after the limit.
func Until(ctx context.Context, limit time.Duration, what string, yes func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := yes()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waited %s for %s", limit, what), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
