package check

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
	"slurmflex/flex/slurmconf"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// scheduler is the part of Slurm that a check reads.
type scheduler interface {
	Config(ctx context.Context) (slurm.Config, error)
	Partitions(ctx context.Context) ([]slurm.Partition, error)
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Reservations(ctx context.Context) ([]slurm.Reservation, error)
	Allowances(ctx context.Context, accounting bool) (slurm.Allowances, error)
}

// Cloud is the part of Compute that a check reads.
type Cloud interface {
	Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Template(ctx context.Context, link string) (mig.Template, error)
	Region(ctx context.Context, name string) (mig.Region, error)
	Zone(ctx context.Context, name string) (mig.Zone, error)
	MachineType(ctx context.Context, zone, name string) (mig.MachineType, error)
	Clock(ctx context.Context, region string) (time.Time, error)
	Lacking(ctx context.Context, region string) ([]string, error)
}

// Seen is an observation, or the error of the attempt.
type Seen[T any] struct {
	Is  T
	Err error
}

// World is everything that a check observed.
type World struct {
	At         time.Time // when the world was observed
	User       int       // uid of the observer
	Conf       Seen[slurm.Config]
	Partitions Seen[[]slurm.Partition]
	Nodes      Seen[[]slurm.Node]
	Reserved   Seen[[]slurm.Reservation]
	Allowances Seen[slurm.Allowances] // only if a limit is of an account
	File       *slurmconf.File        // nil if unreadable here
	Unresolved map[string]error       // by node: why this host cannot resolve its address
	Programs   map[string]program     // programs named in slurm.conf, by path
	Hooks      string                 // folder of slurmflex's programs; empty: the packages' one

	Client    error            // why Compute cannot be queried at all
	Groups    map[string]error // by region: why its groups cannot be listed; nil if they can
	Regions   map[string]Seen[mig.Region]
	Lacking   map[string]Seen[[]string] // by region with an endpoint of its own: the methods that it lacks
	Zones     map[string]Seen[mig.Zone]
	Templates map[string]Seen[mig.Template] // by link
	Machines  map[offer]Seen[mig.MachineType]
	Clock     Clock
}

// offer is a machine type in a zone.
type offer struct{ Zone, Machine string }

// Clock compares Compute's clock with this host's.
type Clock struct {
	Before, There, After time.Time // here, at Compute, here; zero if Compute was not queried
	Err                  error
}

// Off returns the difference between this host's clock and Compute's, which has whole seconds. It
// is positive if this host's clock is ahead.
func (c Clock) Off() time.Duration {
	switch {
	case c.Before.After(c.There.Add(time.Second)):
		return c.Before.Sub(c.There.Add(time.Second))
	case c.After.Before(c.There):
		return c.After.Sub(c.There)
	}
	return 0
}

// liveLimit bounds how long Live waits for Slurm and Compute, because a person waits for its result.
const liveLimit = time.Minute

// Live reads everything that a check on this host needs. noCloud is the reason why Compute cannot be
// queried; nil if it can.
func Live(ctx context.Context, cfg *config.Config, s scheduler, c Cloud, noCloud error) (World, error) {
	bounded, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	if noCloud != nil {
		c = nil // it may be a nil pointer
	}
	w := observe(bounded, cfg, s, c, net.DefaultResolver, time.Now)
	w.Client = noCloud
	if ctx.Err() != nil {
		return World{}, fmt.Errorf("check interrupted: %w", context.Cause(ctx))
	}
	var err error
	w.Hooks, err = slurmconf.Programs()
	return w, err
}

// observe reads everything that a check needs, concurrently. Failed reads are recorded as errors in
// the world. Without a Cloud it reads only Slurm.
func observe(ctx context.Context, cfg *config.Config, s scheduler, c Cloud, names resolver, now func() time.Time) World {
	w := World{
		At: now(), User: os.Geteuid(), Programs: map[string]program{}, Groups: map[string]error{}, Unresolved: map[string]error{}, Lacking: map[string]Seen[[]string]{},
		Regions: map[string]Seen[mig.Region]{}, Zones: map[string]Seen[mig.Zone]{},
		Templates: map[string]Seen[mig.Template]{}, Machines: map[offer]Seen[mig.MachineType]{},
	}
	var side sync.WaitGroup
	side.Go(func() {
		w.observeSlurm(ctx, cfg, s)
		w.observeAddresses(ctx, cfg, names)
	})
	if c != nil {
		side.Go(func() { w.observeCompute(ctx, cfg, c, now) })
	}
	side.Wait()
	return w
}

func (w *World) observeSlurm(ctx context.Context, cfg *config.Config, s scheduler) {
	if w.Conf.Is, w.Conf.Err = s.Config(ctx); w.Conf.Err != nil {
		return // the remaining reads would also fail
	}
	w.Partitions.Is, w.Partitions.Err = s.Partitions(ctx)
	w.Nodes.Is, w.Nodes.Err = s.Nodes(ctx)
	w.Reserved.Is, w.Reserved.Err = s.Reservations(ctx)
	if slices.ContainsFunc(cfg.Options.Limits, func(l config.Limit) bool { return l.Account != "" }) {
		w.Allowances.Is, w.Allowances.Err = s.Allowances(ctx, true)
	}
	if file, err := slurmconf.Read(w.Conf.Is["SLURM_CONF"]); err == nil {
		w.File = file
	}
	named := prologs(w.Conf.Is)
	for _, h := range slurmconf.Hooks() {
		named = append(named, w.Conf.Is[h.Key])
	}
	for _, value := range named {
		if path := programPath(value); path != "" {
			w.Programs[path] = lookAt(path)
		}
	}
}

// sideBySide limits the concurrent calls to Compute.
const sideBySide = 8

// observeCompute reads the regions first. It skips everything else in a region if listing its
// groups fails.
func (w *World) observeCompute(ctx context.Context, cfg *config.Config, c Cloud, now func() time.Time) {
	regions := cfg.FlexRegions()
	_, unseen := c.Groups(ctx, cfg.Cluster, regions)
	for _, region := range regions {
		w.Groups[region] = unseen[region]
	}
	var mu sync.Mutex
	var side errgroup.Group
	side.SetLimit(sideBySide)
	for _, region := range regions {
		if unseen[region] != nil {
			continue
		}
		side.Go(func() error {
			r, err := c.Region(ctx, region)
			mu.Lock()
			defer mu.Unlock()
			w.Regions[region] = Seen[mig.Region]{r, err}
			return nil
		})
		if cfg.Options.HasEndpoint(region) {
			side.Go(func() error {
				methods, err := c.Lacking(ctx, region)
				mu.Lock()
				defer mu.Unlock()
				w.Lacking[region] = Seen[[]string]{methods, err}
				return nil
			})
		}
		if w.Clock.Before.IsZero() {
			w.Clock.Before = now()
			w.Clock.There, w.Clock.Err = c.Clock(ctx, region)
			w.Clock.After = now()
		}
	}
	for _, zone := range zonesOf(cfg, unseen) {
		side.Go(func() error {
			z, err := c.Zone(ctx, zone)
			mu.Lock()
			defer mu.Unlock()
			w.Zones[zone] = Seen[mig.Zone]{z, err}
			return nil
		})
	}
	_ = side.Wait() // each call records its error in the world
	w.observeMachines(ctx, cfg, c, unseen)
}

// observeMachines reads the templates, and their machine types in each zone.
func (w *World) observeMachines(ctx context.Context, cfg *config.Config, c Cloud, unseen map[string]error) {
	for _, set := range cfg.FlexSets() {
		if unseen[set.Region] != nil {
			continue
		}
		t, read := w.Templates[set.Template]
		if !read {
			t.Is, t.Err = c.Template(ctx, set.Template)
			w.Templates[set.Template] = t
		}
		if t.Err != nil {
			continue
		}
		for _, zone := range set.Zones {
			at := offer{zone, t.Is.MachineType}
			if _, read := w.Machines[at]; !read && w.Zones[zone].Err == nil {
				m, err := c.MachineType(ctx, zone, t.Is.MachineType)
				w.Machines[at] = Seen[mig.MachineType]{m, err}
			}
		}
	}
}

// zonesOf returns the zones of slurmflex nodesets in the readable regions.
func zonesOf(cfg *config.Config, unseen map[string]error) []string {
	var zones []string
	known := map[string]bool{}
	for _, set := range cfg.NodeSets {
		for _, zone := range set.Zones {
			if !known[zone] && unseen[set.Region] == nil {
				known[zone] = true
				zones = append(zones, zone)
			}
		}
	}
	return zones
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
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, headSize))
	return string(text), err
}
