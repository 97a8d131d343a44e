package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/config/regular"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// scheduler is the part of Slurm that a check reads.
type scheduler interface {
	Config(ctx context.Context) (slurm.Config, error)
	Partitions(ctx context.Context) ([]slurm.Partition, error)
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Allowances(ctx context.Context, enforced []string) (slurm.Allowances, error)
}

// reader is the part of Compute that a check reads.
type reader interface {
	catalog
	Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Region(ctx context.Context, name string) (mig.Region, error)
	ZoneIsUp(ctx context.Context, name string) (bool, error)
	Lacking(ctx context.Context, region string) ([]string, error)
}

// seen is an observation, or the error of the attempt.
type seen[T any] struct {
	Is  T
	Err error
}

// world is everything that a check observed.
type world struct {
	User       int // uid of the observer
	Conf       seen[slurm.Config]
	Partitions seen[[]slurm.Partition]
	Nodes      seen[[]slurm.Node]
	Allowances seen[slurm.Allowances]    // only if a limit is of an account
	Addresses  map[string]seen[[]string] // by node that is up: as this host resolves it
	Programs   map[string]program        // programs named in slurm.conf, by path
	Hooks      string                    // folder of slurmflex's programs; empty: the packages' one

	Client    error            // why Compute cannot be queried at all
	Groups    map[string]error // by region: why its groups cannot be listed; nil if they can
	Regions   map[string]seen[mig.Region]
	Lacking   map[string]seen[[]string] // by region with an endpoint of its own: the methods that it lacks
	ZonesUp   map[string]seen[bool]
	Templates map[string]seen[mig.Template] // by link
	Machines  map[offer]seen[mig.MachineType]
}

// offer is a machine type in a zone.
type offer struct{ Zone, Machine string }

// liveLimit bounds how long CheckLive waits for Slurm and Compute, because a person waits for its result.
const liveLimit = time.Minute

// CheckLive also compares the configuration with Slurm and Compute. noCloud is the reason why Compute cannot
// be queried; nil if it can.
func CheckLive(ctx context.Context, file string, cfg *config.Config, unpriced error, s scheduler, c reader, noCloud error) (Report, error) {
	bounded, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	if noCloud != nil {
		c = nil // it may be a nil pointer
	}
	w := observe(bounded, cfg, s, c, net.DefaultResolver)
	w.Client = noCloud
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("check interrupted: %w", context.Cause(ctx))
	}
	var err error
	if w.Hooks, err = programFolder(); err != nil {
		return Report{}, err
	}
	return reportOf(file, cfg, true, append(adviceOn(cfg, unpriced), compare(cfg, w)...)), nil
}

// observe reads everything that a check needs, concurrently. Failed reads are recorded as errors in
// the world. Without Compute it reads only Slurm.
func observe(ctx context.Context, cfg *config.Config, s scheduler, c reader, names resolver) world {
	w := world{User: os.Geteuid(), Programs: map[string]program{}}
	var side sync.WaitGroup
	side.Go(func() {
		w.observeSlurm(ctx, cfg, s)
		w.observeAddresses(ctx, cfg, names)
	})
	if c != nil {
		side.Go(func() { w.observeCompute(ctx, cfg, c) })
	}
	side.Wait()
	return w
}

func (w *world) observeSlurm(ctx context.Context, cfg *config.Config, s scheduler) {
	if w.Conf.Is, w.Conf.Err = s.Config(ctx); w.Conf.Err != nil {
		return // the remaining reads would also fail
	}
	w.Partitions.Is, w.Partitions.Err = s.Partitions(ctx)
	w.Nodes.Is, w.Nodes.Err = s.Nodes(ctx)
	if slices.ContainsFunc(cfg.Options.Limits, func(l config.Limit) bool { return l.Account != "" }) {
		w.Allowances.Is, w.Allowances.Err = s.Allowances(ctx, []string{"limits"})
	}
	named := prologs(w.Conf.Is)
	for _, h := range hooks() {
		named = append(named, w.Conf.Is[h.Key])
	}
	for _, value := range named {
		if path := programPath(value); path != "" {
			w.Programs[path] = lookAt(path)
		}
	}
}

// sideBySide limits the concurrent calls to Compute, and those to name servers.
const sideBySide = 8

// reads makes calls side by side.
type reads struct {
	errgroup.Group
	mu sync.Mutex
}

// read makes a call and notes its result under a key.
func read[K comparable, T any](r *reads, into *map[K]seen[T], key K, call func() (T, error)) {
	r.Go(func() error {
		is, err := call()
		r.mu.Lock()
		defer r.mu.Unlock()
		if *into == nil {
			*into = map[K]seen[T]{}
		}
		(*into)[key] = seen[T]{is, err}
		return nil
	})
}

// observeCompute reads the regions first. It skips everything else in a region if listing its
// groups fails.
func (w *world) observeCompute(ctx context.Context, cfg *config.Config, c reader) {
	_, w.Groups = c.Groups(ctx, cfg.Cluster, cfg.FlexRegions())
	sets := slices.DeleteFunc(cfg.FlexSets(), func(set *config.NodeSet) bool { return w.Groups[set.Region] != nil })
	var side reads
	side.SetLimit(sideBySide)
	asked := map[string]bool{}
	once := func(what string) bool { // what is read is named differently for each kind
		again := asked[what]
		asked[what] = true
		return !again
	}
	for _, set := range sets {
		if once(set.Region) {
			read(&side, &w.Regions, set.Region, func() (mig.Region, error) { return c.Region(ctx, set.Region) })
			if cfg.Options.HasEndpoint(set.Region) {
				read(&side, &w.Lacking, set.Region, func() ([]string, error) { return c.Lacking(ctx, set.Region) })
			}
		}
		if once(set.Template) {
			read(&side, &w.Templates, set.Template, func() (mig.Template, error) { return c.Template(ctx, set.Template) })
		}
		for _, zone := range set.Zones {
			if once(zone) {
				read(&side, &w.ZonesUp, zone, func() (bool, error) { return c.ZoneIsUp(ctx, zone) })
			}
		}
	}
	_ = side.Wait() // the world has the errors
	for _, set := range sets {
		t := w.Templates[set.Template]
		for _, zone := range set.Zones {
			if t.Err == nil && w.ZonesUp[zone].Err == nil && once(zone+" "+t.Is.MachineType) {
				read(&side, &w.Machines, offer{zone, t.Is.MachineType}, func() (mig.MachineType, error) {
					return c.MachineType(ctx, zone, t.Is.MachineType)
				})
			}
		}
	}
	_ = side.Wait()
}

// program is a file that slurm.conf names as a program.
type program struct {
	Err  error // why the file could not be examined
	Mode os.FileMode
	Ours bool // the file mentions slurmflex, like slurmflex's hooks
	Bare bool // the file is not a script, so it passes no verb to slurmflex
}

// programPath returns the path in a program's setting, which may have arguments.
func programPath(value string) string {
	path, _, _ := strings.Cut(value, " ")
	return path
}

// headSize is the maximum number of bytes that head reads: enough for the tables of thousands of
// partitions.
const headSize = 1 << 20

// lookAt examines a program and the first part of its content.
func lookAt(path string) program {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = errors.New("is a folder")
	}
	if err != nil {
		return program{Err: err}
	}
	text, err := head(path)
	return program{
		Err: err, Mode: info.Mode(),
		Ours: strings.Contains(text, "slurmflex"), Bare: !strings.HasPrefix(text, "#!"),
	}
}

// head returns the first part of a file.
func head(path string) (string, error) {
	f, err := regular.Open(path, false)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, headSize))
	return string(text), err
}
