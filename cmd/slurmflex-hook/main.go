// Command slurmflex-hook hands a call of slurmctld to slurmflex's daemon, in a
// fraction of the time and memory that slurmflex takes to start:
//
//	slurmflex-hook resume|suspend|resume-fail --config FILE -- HOSTLIST
//
// In every other case it executes slurmflex with the same arguments and
// environment: for other arguments, if something cannot be read, if not all nodes
// are flex nodes, and if the daemon is not reachable.
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
	fmt.Fprintln(os.Stderr, "slurmflex-hook:", runSlurmflex(args))
	os.Exit(1)
}

// errNotPlain means that slurmflex is needed; slurmflex finds out why.
var errNotPlain = errors.New("not a plain call for flex nodes")

// handOver gives a plain call for flex nodes to the daemon.
func handOver(args []string) error {
	if len(args) != 5 || args[1] != "--config" || args[3] != "--" {
		return errNotPlain
	}
	verb, path, nodes := args[0], args[2], args[4]
	// Slurm keeps the file only while the program runs, and around a reconfigure not
	// even that long: read it first. If it is gone when slurmflex reads it again, the
	// jobs are found with squeue.
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
	return flex.Send(context.Background(), flex.SocketPath(cfg.Options.RunDir), flex.WakeUp{Cluster: cfg.Cluster, Verb: verb, Nodes: nodes, Jobs: jobs})
}

// systems is where slurmflex is unless it is in the folder of this program.
const systems = "/usr/bin/slurmflex"

// runSlurmflex executes slurmflex in place of this program; it returns only if that
// fails.
func runSlurmflex(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find slurmflex: %w", err)
	}
	beside := filepath.Join(filepath.Dir(self), "slurmflex")
	for _, program := range []string{beside, systems} {
		err = unix.Exec(program, append([]string{program}, args...), os.Environ())
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("run %s: %w", program, err)
		}
	}
	return fmt.Errorf("neither %s nor %s exists; install slurmflex", beside, systems)
}
