// Command play keeps a cluster running for a person to try things on: a real
// Slurm whose programs do nothing, the fake Compute API, and slurmflex to be
// called by hand. It goes when interrupted.
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

const advice = `Slurm %s is running, and its ResumeProgram does nothing: what it should do is
yours to do by hand. In another shell:

  export SLURM_CONF=%[2]s
  alias slurmflex='%[3]s --config %[4]s'

  sbatch -p train -w 'alpha-a3-[0-1]' -N2 --time=15 -o /dev/null --wrap 'srun hostname'
  squeue                                  # CONFIGURING: the nodes are powering up
  echo '{"all_nodes_resume":"alpha-a3-[0-1]","jobs":[{"job_id":1,"nodes_resume":"alpha-a3-[0-1]"}]}' > /tmp/resume.json
  slurmflex plan
  SLURM_RESUME_FILE=/tmp/resume.json slurmflex resume 'alpha-a3-[0-1]'
  slurmflex status
  slurmflex why 1
  curl -s %[5]s/fake/state    # what the cloud holds; slurmflex-fakegce --help tells more
  sinfo -N -o '%%N %%T'                     # when the job is done: ~ for powered down
  slurmflex suspend 'alpha-a3-[0-1]'

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
		Build: build, Scripts: filepath.Join(filepath.Dir(build), "scripts"), Name: "play", NoHooks: true,
	})
	defer l.Remove()
	if err != nil {
		return err
	}
	fmt.Printf(advice, l.Version, l.Conf(), filepath.Join(l.Dir, "bin/slurmflex"), l.Config(), l.Endpoint)
	<-ctx.Done()
	return nil
}
