// Program pending measures, with a prototype of a daemon and a real slurmctld, whether jobs can wait
// PENDING until their machines are there: see README.md beside it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"slurmflex/test/must"
)

func main() {
	log.SetFlags(log.Ltime)
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pending m1|m2|m3 [flags]")
		os.Exit(2)
	}
	verb := os.Args[1]
	flags := flag.NewFlagSet(verb, flag.ExitOnError)
	dir := flags.String("dir", "/tmp/slurmflex-pending", "the cluster's folder, which is emptied")
	port := flags.Int("port", 9000, "the first of 300 ports")
	d := &daemon{}
	flags.BoolVar(&d.keep, "keep", false, "machines stay for other jobs")
	flags.DurationVar(&d.idle, "idle", time.Minute, "how long an unused machine stays")
	flags.IntVar(&d.static, "static", 0, "the first nodes are always up")
	flags.IntVar(&d.grace, "grace", 6, "minutes from the last raise of the cover to its end")
	flags.DurationVar(&d.replace, "replace", time.Hour, "age at which the cover is replaced")
	flags.BoolVar(&d.weights, "weights", false, "nodes' weights follow the rank of their jobs")
	flags.BoolVar(&d.named, "named", false, "jobs are named as soon as machines are asked for")
	flags.BoolVar(&d.limited, "limited", true, "limits are counted")
	flags.BoolVar(&d.early, "early", true, "jobs that keep a warm machine planned are named early")
	flags.StringVar(&d.die, "die", "", "the step after which the daemon kills itself")
	m := &measure{}
	flags.DurationVar(&m.outage, "outage", 0, "m3: how long the daemon is dead; 0 is 1 minute after each step, 10 minutes otherwise")
	flags.StringVar(&m.what, "what", "", "m1: queue, bare or cycle; m2: pending or configuring; m3: steps, static or churn")
	flags.IntVar(&m.jobs, "jobs", 0, "how many jobs; 0 is the measurement's own number")
	flags.Uint64Var(&m.seed, "seed", 1, "of what is drawn")
	flags.BoolVar(&d.dbd, "dbd", false, "with slurmdbd and its limits")
	flags.StringVar(&m.libs, "libs", "", "LD_LIBRARY_PATH of slurmdbd")
	flags.StringVar(&m.against, "against", "", "m2: the file had.json of the mode configuring")
	must.Do(flags.Parse(os.Args[2:]))
	switch verb {
	case "hook":
		must.Do(hook(*dir, flags.Arg(0), flags.Arg(1)))
		return
	case "daemon":
		d.c = &cluster{dir: *dir}
		d.cloud = string(must.Get(os.ReadFile(*dir + "/run/cloud")))
		d.loop(2 * time.Second)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	m.ctx, m.d, m.cancelled = ctx, d, map[string]bool{}
	m.c = &cluster{dir: *dir, port: *port, suspend: 300, dbd: d.dbd, libs: m.libs}
	err := must.Try(func() {
		defer m.c.stop()
		defer m.killDaemon()
		defer m.record()
		switch verb {
		case "m1":
			m.harm()
		case "m2":
			m.right()
		case "m3":
			m.letsGo()
		default:
			must.Do(fmt.Errorf("no measurement %s", verb))
		}
	})
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// measure is one measurement: its cluster, its prototype, and what was asked of it.
type measure struct {
	ctx     context.Context
	c       *cluster
	d       *daemon
	what    string
	outage  time.Duration
	jobs    int
	seed    uint64
	libs    string
	against string

	cancelled map[string]bool // by the script
	daemon    *exec.Cmd
	ended     chan struct{}
}

// startDaemon starts the prototype, which kills itself after the step die.
func (m *measure) startDaemon(die string) {
	d := m.d
	args := []string{
		"daemon", "-dir", m.c.dir, fmt.Sprint("-keep=", d.keep), fmt.Sprint("-idle=", d.idle), fmt.Sprint("-static=", d.static),
		fmt.Sprint("-grace=", d.grace), fmt.Sprint("-replace=", d.replace), fmt.Sprint("-weights=", d.weights), fmt.Sprint("-limited=", d.limited),
		fmt.Sprint("-early=", d.early), fmt.Sprint("-named=", d.named), "-dbd=" + fmt.Sprint(d.dbd), "-die", die,
	}
	cmd := m.c.command(must.Get(os.Executable()), args...)
	logFile := must.Get(os.OpenFile(m.c.path("log/daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))
	defer logFile.Close()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	m.c.cloud.say("daemon starts", die)
	must.Do(cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); m.c.cloud.say("daemon ended", die); close(ended) }()
	m.daemon, m.ended = cmd, ended
}

func (m *measure) killDaemon() {
	if m.daemon == nil {
		return
	}
	_ = m.daemon.Process.Kill()
	<-m.ended
}

func (cl *cloud) say(what, note string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.note(what, "", "", 0, note)
}

// sleep waits, but not beyond an interrupt.
func (m *measure) sleep(d time.Duration) {
	select {
	case <-m.ctx.Done():
		must.Do(m.ctx.Err())
	case <-time.After(d):
	}
}

// await waits until yes, for so long at most, and says what it saw last.
func (m *measure) await(what string, limit time.Duration, yes func() (bool, string)) {
	deadline := time.Now().Add(limit)
	for next := time.Now().Add(30 * time.Second); ; m.sleep(time.Second) {
		ok, seen := yes()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			must.Do(fmt.Errorf("waited %s for %s: %s", limit, what, seen))
		}
		if time.Now().After(next) {
			log.Printf("waiting for %s: %s", what, seen)
			next = time.Now().Add(30 * time.Second)
		}
	}
}

// states counts jobs by state.
func (m *measure) states() map[string]int {
	count := map[string]int{}
	jobs, _ := m.c.jobs()
	for _, j := range jobs {
		count[j.state]++
	}
	return count
}

func (m *measure) awaitAllDone(limit time.Duration) {
	m.await("all jobs to end", limit, func() (bool, string) {
		s := m.states()
		return len(s) > 0 && s["PENDING"]+s["RUNNING"]+s["CONFIGURING"]+s["COMPLETING"] == 0, fmt.Sprint(s)
	})
}

// runs reads what the jobs have noted: how often each has started and ended.
func (m *measure) runs() (started, ended map[string]int) {
	started, ended = map[string]int{}, map[string]int{}
	text, _ := os.ReadFile(m.c.path("out/runs"))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 6 {
			key := strings.TrimSuffix(f[2], "_-")
			if f[0] == "start" {
				started[key]++
			} else {
				ended[key]++
			}
		}
	}
	return started, ended
}

// events are those so far.
func (m *measure) events() []event {
	m.c.cloud.mu.Lock()
	defer m.c.cloud.mu.Unlock()
	return append([]event(nil), m.c.cloud.events...)
}

// slips counts jobs that Slurm has powered nodes up for while the daemon lived.
func slips(events []event) (n int, notes []string) {
	alive := false
	for _, e := range events {
		switch {
		case e.What == "daemon starts":
			alive = true
		case e.What == "daemon ended" || e.What == "died":
			alive = false
		case e.What == "resumed" && alive:
			n++
			notes = append(notes, e.At.Format("15:04:05 ")+e.Job+" "+e.Note)
		}
	}
	return n, notes
}

// record writes all events to a file.
func (m *measure) record() {
	if m.c.cloud == nil {
		return
	}
	var b strings.Builder
	for _, e := range m.events() {
		fmt.Fprintf(&b, "%s %-16s job=%-8s req=%-8s n=%d %s\n", e.At.Format("15:04:05.000"), e.What, e.Job, e.Req, e.N, e.Note)
	}
	must.Do(os.WriteFile(m.c.path("out/events"), []byte(b.String()), 0o644))
}
