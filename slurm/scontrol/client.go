// Package scontrol reads from slurmctld and changes it by running scontrol, squeue
// and scancel.
package scontrol

import (
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

	// maxChildren is how many commands run at once: each keeps slurmctld busy
	// for milliseconds, during which it schedules nothing.
	maxChildren = 2
)

// Client runs Slurm's commands. It is safe for concurrent use; its fields are
// not to be changed once it is used.
type Client struct {
	// BinDir is the absolute path of the folder of Slurm's commands; "" is the
	// first of the usual ones that has the command.
	BinDir string
	// Conf is the children's SLURM_CONF; "" is ours.
	Conf string
	// Timeout is how long each command may take; 0 is 30 s.
	Timeout time.Duration
	// MaxOutput is the most a command may print, in bytes; 0 is 256 MiB.
	MaxOutput int64
	// Log gets one line per command at debug level; nil for none.
	Log *zap.Logger
	// Observe is told of every command that was run, in a word or two such as
	// "scontrol show nodes". It is called by many goroutines at once. May be nil.
	Observe func(command string, took time.Duration, err error)

	slotsOnce sync.Once
	slots     chan struct{}
	lengths   sync.Map // of what each kind of command last printed, by its name

	nodesMu sync.Mutex
	nodes   slurm.NodeRows
}

// Reach tries this often, so a restart of slurmctld is no error.
const (
	reachTries = 3
	reachPause = 2 * time.Second
)

// Reach finds out whether slurmctld answers. If it does not, the error is ErrNoController; any other
// error says nothing about slurmctld.
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

// Nodes lists all nodes, those of hidden partitions too.
func (c *Client) Nodes(ctx context.Context) ([]slurm.Node, error) {
	out, err := c.run(ctx, "scontrol", "-a", "-o", "show", "nodes")
	if err != nil {
		return nil, err
	}
	c.nodesMu.Lock()
	defer c.nodesMu.Unlock()
	return c.nodes.Parse(out)
}

// NodesNamed lists only these nodes, of which there is at least one. One that Slurm does
// not know is an error.
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

// Jobs lists the jobs that squeue shows: pending, running and completing ones
// of all users and partitions. They have no names, see slurm.SqueueFormat.
func (c *Client) Jobs(ctx context.Context) ([]slurm.Job, error) { return c.queue(ctx) }

// PendingJobs lists those of Jobs that are pending.
func (c *Client) PendingJobs(ctx context.Context) ([]slurm.Job, error) {
	return c.queue(ctx, "-t", "PENDING")
}

// TaskJobs lists tasks of arrays by their addresses, such as "5_2", one row for each. Jobs hides a
// pending task among the array's other pending tasks, even if it uses a reservation of its own. A
// task that is still one record with others has their ID. Tasks that are unknown are left out.
func (c *Client) TaskJobs(ctx context.Context, addresses []string) ([]slurm.Job, error) {
	for _, address := range addresses {
		if !jobAddress.MatchString(address) {
			return nil, fmt.Errorf("%q is not the address of a job", plain(address, maxCall))
		}
	}
	jobs, err := c.queue(ctx, "-r", "-j", strings.Join(addresses, ","))
	if errors.Is(err, ErrUnknownJob) {
		return nil, nil
	}
	return jobs, err
}

func (c *Client) queue(ctx context.Context, only ...string) ([]slurm.Job, error) {
	mark := rand.Text()
	out, err := c.run(ctx, "squeue", append(append([]string{"-h", "-a"}, only...), "-o", slurm.SqueueFormat(mark))...)
	if err != nil {
		return nil, err
	}
	return slurm.ParseSqueue(out, mark)
}

// Partitions lists all partitions, hidden ones too.
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

// Version is the version of scontrol itself; slurmctld's is in its Config.
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

// Controllers lists the cluster's slurmctlds in the order of slurm.conf, the
// primary first, and says whether each of them answers. That none does is no
// error.
func (c *Client) Controllers(ctx context.Context) ([]slurm.Controller, error) {
	out, err := c.run(ctx, "scontrol", "ping") // which fails if none is up
	controllers, parseErr := slurm.ParsePing(out)
	if parseErr != nil {
		return nil, cmp.Or(err, parseErr)
	}
	return controllers, nil
}

// environment is all that the children get of ours: squeue and scontrol heed
// many SQUEUE_… and SLURM_… variables that change what they print. The times
// that they print are in UTC, as package slurm expects.
func (c *Client) environment() []string {
	env := []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	conf := c.Conf
	if conf == "" {
		conf = os.Getenv("SLURM_CONF")
	}
	if conf != "" {
		env = append(env, "SLURM_CONF="+conf)
	}
	return env
}
