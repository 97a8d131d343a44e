// Command play runs a cluster for manual experiments: a real Slurm, the fake Compute API, and
// slurmflex's daemon. It ends when interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"slurmflex/test/lab"
)

const advice = `Slurm %[1]s is running, with slurmflex and a fake of Google's API. In another shell:

  export SLURM_CONF=%[2]s
  alias slurmflex='%[3]s --config %[4]s'
  fake() { curl -s %[5]s/fake/"$@"; echo; }

A job and its machines:

  sbatch -p train -N2 --time=15 -o /dev/null --wrap 'srun sleep 60'
  squeue                                    # PENDING: its machines are requested, and boot
  slurmflex status
  slurmflex why 1
  scontrol show job 1 | grep AdminComment   # what its owner sees without slurmflex
  slurmflex plan                            # what a pass would do now
  fake state                                # what the cloud holds

Its history, a minute after its machines are deleted; estimates need ten requests:

  slurmflex why 1
  slurmflex cost --by user
  for i in {1..10}; do sbatch -p train -N1 --time=15 -o /dev/null --wrap 'sleep 5'; done
  slurmflex estimate -p train -N1

Faults, to see in status, why and the page. While there is no capacity, submit a job that waits:

%[8]s
The daemon's page is http://%[6]s and its log %[7]s.
Control-C here ends it all.
`

// fault is a command line to type, and its effect.
type fault struct{ line, shows string }

// faults lists possible faults of the cloud and of the machines of job 1's nodes.
var faults = []fault{
	{`capacity -d '{"count":0}'`, "no capacity; -1: no limit again"},
	{`faults -d '{"method":"*ResizeRequests.insert","status":429}'`, "Google takes no requests: rate limit"},
	{`faults -d '{"method":"*ResizeRequests.insert","status":403}'`, "a role is missing"},
	{`faults -d '{"method":"*","status":503}'`, "Google's API is down"},
	{`faults -d '{"method":"*","drop":true}'`, "the network is down"},
	{`faults -d '{"method":"*","delay":"15s"}'`, "Google's API is slow"},
	{`faults -X DELETE`, "calls succeed again"},
	{`quota -d '{"region":"us-central1","metric":"PREEMPTIBLE_NVIDIA_H100_MEGA_GPUS","limit":8}'`, "a quota for one machine"},
	{`zones -d '{"zone":"us-central1-a","up":false}'`, "a zone is down; true: up again"},
	{`vms/alpha-a3-0/delete -X POST`, "a machine of a running job is deleted"},
	{`vms/alpha-a3-0/stop -X POST`, "a machine crashes"},
	{`vms/alpha-a3-0/host-error -d '{"repair":"1m"}'`, "a host fails"},
	{`vms/alpha-a3-0/lease -d '{"left":"3m"}'`, "a lease ends soon"},
	{`vms/alpha-a3-0/maintenance -d '{"in":"10m","lasts":"1h"}'`, "maintenance is announced"},
}

// faultLines returns the command lines with their effects.
func faultLines() string {
	var text strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&text, "  fake %-91s # %s\n", f.line, f.shows)
	}
	return text.String()
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	err := play(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context) error {
	build, err := filepath.Abs(filepath.Dir(os.Args[0]))
	if err != nil {
		return err
	}
	l, err := lab.Start(ctx, lab.Options{
		Build: build, Scripts: filepath.Join(filepath.Dir(build), "scripts"), Name: "play", Daemon: true, User: "slurm",
	})
	defer l.Remove()
	if err != nil {
		return err
	}
	fmt.Printf(advice, l.Version, l.Conf(), filepath.Join(l.Dir, "bin/slurmflex"), l.Config(), l.Endpoint,
		l.HTTPAddress(), l.Log("daemon.log"), faultLines())
	<-ctx.Done()
	return nil
}
