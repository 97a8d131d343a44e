// Command slurmflex-hook hands a call of slurmctld over to slurmflex's daemon,
// in a fraction of the time and memory that slurmflex takes to start:
//
//	slurmflex-hook resume|suspend|resume-fail --config FILE -- HOSTLIST
//
// Whatever else is to be done, it becomes slurmflex with the same arguments and
// environment: for other arguments, for what cannot be read, for nodes that are
// not all flex nodes, and where no daemon takes the call.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/slurm"
)

func main() {
	args := os.Args[1:]
	err := handOver(args)
	if err == nil {
		return
	}
	var unreceipted flex.UnreceiptedError
	if errors.As(err, &unreceipted) { // what was sent is not sent again
		args = slices.Insert(slices.Clone(args), 1, "--unreceipted", err.Error())
	}
	fmt.Fprintln(os.Stderr, "slurmflex-hook:", becomeSlurmflex(args))
	os.Exit(1)
}

// errNotPlain is that slurmflex is needed: it finds out itself what for.
var errNotPlain = errors.New("not a plain call for flex nodes")

// handOver gives a plain call for flex nodes to the daemon.
func handOver(args []string) error {
	if len(args) != 5 || args[1] != "--config" || args[3] != "--" {
		return errNotPlain
	}
	verb, path, nodes := args[0], args[2], args[4]
	// Slurm keeps the file only while the program runs, and not even so long
	// around a reconfigure: read it before anything else. If it is gone when
	// slurmflex reads it again, the round goes by what squeue says.
	jobs, err := flex.ResumedJobs(os.Getenv("SLURM_RESUME_FILE"))
	switch verb {
	case "resume":
		if err != nil {
			return err
		}
	case "suspend", "resume-fail": // for which there is no such file
	default:
		return errNotPlain
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	names, err := slurm.Expand(nodes)
	if err != nil {
		return err
	}
	calls := flex.Sort(cfg, names)
	if len(calls.Ours) == 0 || len(calls.Ours) < len(names) {
		return errNotPlain
	}
	return flex.Send(context.Background(), flex.SocketPath(cfg.Options.RunDir), flex.Hint{Cluster: cfg.Cluster, Verb: verb, Nodes: nodes, Jobs: jobs})
}

// systems is where slurmflex is unless it is beside this program.
const systems = "/usr/bin/slurmflex"

// becomeSlurmflex returns only if that fails.
func becomeSlurmflex(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find slurmflex: %w", err)
	}
	beside := filepath.Join(filepath.Dir(self), "slurmflex")
	for _, program := range []string{beside, systems} {
		err = unix.Exec(program, append([]string{program}, args...), os.Environ())
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("become %s: %w", program, err)
		}
	}
	return fmt.Errorf("neither %s nor %s is there; install slurmflex", beside, systems)
}
