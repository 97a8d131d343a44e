// Command slurmflex-hook passes a call by slurmctld to slurmflex's daemon, in a fraction of the
// time and memory that slurmflex needs to start:
//
//	slurmflex-hook resume|suspend|resume-fail --config FILE -- HOSTLIST
//
// In every other case it executes slurmflex with the same arguments and environment: for other
// arguments, if an input cannot be read, if some nodes are not flex nodes, or if the daemon is not
// reachable.
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
	"slurmflex/flex/wake"
	"slurmflex/slurm"
)

func main() {
	args := os.Args[1:]
	err := handOver(args)
	if err == nil {
		return
	}
	var unreceipted wake.UnreceiptedError
	if errors.As(err, &unreceipted) { // the wake-up was sent; do not send it again
		args = slices.Insert(slices.Clone(args), 1, "--unreceipted", err.Error())
	}
	fmt.Fprintln(os.Stderr, "slurmflex-hook:", runSlurmflex(args))
	os.Exit(1)
}

// errNotPlain means that slurmflex must handle the call and report what is wrong.
var errNotPlain = errors.New("not a plain call for flex nodes")

// handOver passes a plain call for flex nodes to the daemon.
func handOver(args []string) error {
	if len(args) != 5 || args[1] != "--config" || args[3] != "--" {
		return errNotPlain
	}
	verb, path, nodes := args[0], args[2], args[4]
	// Slurm keeps the file only while the program runs, and removes it earlier around a
	// reconfigure: read it first. If it is gone when slurmflex reads it again, squeue lists the
	// jobs.
	jobs, err := wake.ResumedJobs(os.Getenv("SLURM_RESUME_FILE"))
	switch verb {
	case "resume":
		if err != nil {
			return err
		}
	case "suspend", "resume-fail": // for these Slurm writes no such file
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
	calls := wake.Sort(cfg, names)
	if len(calls.Ours) == 0 || len(calls.Ours) < len(names) {
		return errNotPlain
	}
	return wake.Send(context.Background(), wake.SocketPath(cfg.Options.RunDir), wake.Call{Cluster: cfg.Cluster, Verb: verb, Nodes: nodes, Jobs: jobs})
}

// systems is the path of slurmflex if it is not in this program's folder.
const systems = "/usr/bin/slurmflex"

// runSlurmflex replaces this process by slurmflex; it returns only on failure.
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
