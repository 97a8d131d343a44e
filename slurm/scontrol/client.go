// Package scontrol reads and changes slurmctld's state by running scontrol, squeue and scancel.
package scontrol

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/slurm"
)

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxOutput = 256 << 20

	// maxChildren is the number of commands that may run at once. Each command keeps slurmctld busy
	// for milliseconds, during which slurmctld schedules nothing.
	maxChildren = 2
)

// Client runs Slurm's commands. It is safe for concurrent use. Its fields must not change after the
// first call.
type Client struct {
	// BinDir is the absolute path of the folder with Slurm's commands. If empty, the client uses
	// the first of the usual folders that has the command.
	BinDir string
	// Conf is SLURM_CONF of the commands. If empty, they inherit this process's value.
	Conf string
	// Timeout limits the run time of each command; 0 means 30 s.
	Timeout time.Duration
	// MaxOutput limits the output of a command, in bytes; 0 means 256 MiB.
	MaxOutput int64
	// Log receives one line per command at debug level. It may be nil.
	Log *zap.Logger
	// Observe is called after every command, with a short name such as "scontrol show nodes". Calls
	// may be concurrent. It may be nil.
	Observe func(command string, took time.Duration, err error)

	slotsOnce sync.Once
	slots     chan struct{}

	changes gather[[]string, error] // of reservations
	records gather[[]uint32, records]
}

// Reach tries this often, so a restart of slurmctld is no error.
const (
	reachTries = 3
	reachPause = 2 * time.Second
)

// Reach finds out whether slurmctld answers. If it does not, the error is ErrNoController; any other
// error leaves open whether slurmctld answers.
func (c *Client) Reach(ctx context.Context) (err error) {
	for try := range reachTries {
		if _, err = c.Config(ctx); ctx.Err() != nil || !errors.Is(err, ErrNoController) {
			return err
		}
		if try < reachTries-1 {
			select {
			case <-ctx.Done():
			case <-time.After(reachPause):
			}
		}
	}
	return err
}

// Nodes lists all nodes, including those of hidden partitions.
func (c *Client) Nodes(ctx context.Context) ([]slurm.Node, error) {
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "nodes")
	if err != nil {
		return nil, err
	}
	return slurm.ParseNodes(out)
}

// NodesNamed lists only these nodes. names must not be empty. A node that Slurm does not know is an
// error.
func (c *Client) NodesNamed(ctx context.Context, names []string) ([]slurm.Node, error) {
	if err := checkNodeNames(names); err != nil {
		return nil, err
	}
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "nodes", slurm.Fold(names))
	if err != nil {
		return nil, err
	}
	return slurm.ParseNodes(out)
}

// Jobs lists the jobs that squeue shows: pending, running and completing jobs of all users and
// partitions. They lack job names; see slurm.SqueueFormat.
func (c *Client) Jobs(ctx context.Context) ([]slurm.Job, error) {
	return c.queue(ctx, false)
}

// PendingJobs lists the pending ones among Jobs.
func (c *Client) PendingJobs(ctx context.Context) ([]slurm.Job, error) {
	return c.queue(ctx, false, "-t", "PENDING")
}

// TaskJobs lists array tasks by their addresses, such as "5_2", one row for each. Jobs hides a
// pending task among the array's other pending tasks, even if the task uses its own reservation. A
// task that shares a record with other tasks has their ID. Unknown tasks are left out.
func (c *Client) TaskJobs(ctx context.Context, addresses []string) ([]slurm.Job, error) {
	for _, address := range addresses {
		if err := checkJobAddress(address); err != nil {
			return nil, err
		}
	}
	jobs, err := c.queue(ctx, true, "-r", "-j", strings.Join(addresses, ","))
	if errors.Is(err, ErrUnknownJob) {
		return nil, nil
	}
	return jobs, err
}

// ArrayThrottle returns how many tasks of an array may run at once; 0 means no limit. task is one of
// the array's tasks: the records of all of them have the array's throttle (22.05, 24.11, 26.05).
// squeue does not always show it; see slurm.Job.Throttle.
func (c *Client) ArrayThrottle(ctx context.Context, array uint32, task int) (int, error) {
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "job", fmt.Sprintf("%d_%d", array, task))
	if err != nil {
		return 0, err
	}
	return slurm.ParseThrottle(array, out)
}

func (c *Client) queue(ctx context.Context, byTask bool, only ...string) ([]slurm.Job, error) {
	mark := rand.Text()
	out, err := c.squeue(ctx, append(only, "-o", slurm.SqueueFormat(mark))...)
	if err != nil {
		return nil, err
	}
	return slurm.ParseSqueue(out, mark, byTask)
}

// squeue runs squeue for the jobs of all partitions and returns its rows, without the header. The first
// column must be the job's ID. Empty output is an error, because squeue prints a header even if there
// are no jobs.
func (c *Client) squeue(ctx context.Context, args ...string) ([]byte, error) {
	out, err := c.run(ctx, "squeue", append([]string{"-a"}, args...)...)
	if err != nil {
		return nil, err
	}
	header, rows, whole := bytes.Cut(out, []byte("\n"))
	if !whole || !bytes.HasPrefix(header, []byte("JOBID")) {
		return nil, fmt.Errorf("squeue: the output begins with %.100q instead of a header", header)
	}
	return rows, nil
}

// Partitions lists all partitions, including hidden ones.
func (c *Client) Partitions(ctx context.Context) ([]slurm.Partition, error) {
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "partition")
	if err != nil {
		return nil, err
	}
	return slurm.ParsePartitions(out)
}

// Reservations lists all reservations.
func (c *Client) Reservations(ctx context.Context) ([]slurm.Reservation, error) {
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "reservation")
	if err != nil {
		return nil, err
	}
	return slurm.ParseReservations(out)
}

// Config reads slurmctld's configuration.
func (c *Client) Config(ctx context.Context) (slurm.Config, error) {
	out, err := c.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return nil, err
	}
	return slurm.ParseConfig(out)
}

// Version returns the version of scontrol itself. Config has the version of slurmctld.
func (c *Client) Version(ctx context.Context) (slurm.Version, error) {
	out, err := c.run(ctx, "scontrol", "-V")
	if err != nil {
		return slurm.Version{}, err
	}
	version, err := slurm.ParseVersion(string(out))
	if err != nil {
		return slurm.Version{}, fmt.Errorf("scontrol -V: %w", err)
	}
	return version, nil
}

// Controllers lists the cluster's slurmctlds in the order of slurm.conf, the primary first, and
// reports whether each of them answers. It is not an error if none of them answers.
func (c *Client) Controllers(ctx context.Context) ([]slurm.Controller, error) {
	out, err := c.run(ctx, "scontrol", "ping") // fails if no slurmctld is up
	controllers, parseErr := slurm.ParsePing(out)
	if parseErr != nil {
		return nil, cmp.Or(err, parseErr)
	}
	return controllers, nil
}

// environment returns the complete environment of the commands. squeue and scontrol obey many
// SQUEUE_… and SLURM_… variables that change their output, so none is passed on. TZ makes
// them print times in UTC, as package slurm expects.
func (c *Client) environment() []string {
	env := []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	if conf := cmp.Or(c.Conf, os.Getenv("SLURM_CONF")); conf != "" {
		env = append(env, "SLURM_CONF="+conf)
	}
	return env
}
