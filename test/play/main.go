// Command play keeps a cluster running for a person to try things on: a real
// Slurm, the fake Compute API, and slurmflex's daemon between them. It goes when
// interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"slurmflex/test/lab"
)

const advice = `Slurm %s is running, with slurmflex and a fake of Google's API. In another shell:

  export SLURM_CONF=%[2]s
  alias slurmflex='%[3]s --config %[4]s'

  sbatch -p train -N2 --time=15 -o /dev/null --wrap 'srun sleep 60'
  squeue                                    # CONFIGURING: its machines are asked for, and boot
  slurmflex status
  slurmflex why 1
  scontrol show job 1 | grep AdminComment   # what its owner sees without slurmflex
  curl -s %[5]s/fake/state      # what the cloud holds

No capacity from now on (-1: no limit again), and a job that waits:

  curl %[5]s/fake/capacity -d '{"zone":"","machineType":"","count":0}'

The daemon's page is http://%[6]s and its log %[7]s.
Control-C here ends it all.
`

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
		l.HTTPAddress(), l.Log("daemon.log"))
	<-ctx.Done()
	return nil
}
