package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/metrics"
	"slurmflex/flex/plan"
	"slurmflex/flex/web"
	"slurmflex/mig/gce"
	"slurmflex/slurm/scontrol"
)

// commandLimit is how long a command of Slurm's may hang: the better part of an
// hour of the model's time.
const commandLimit = 2 * time.Second

// daemon is what slurmflex daemon does, with all of its parts, but by the
// model's clock. For each line that it reads it writes a sample of itself.
func daemon(ctx context.Context, path string, c clock, orders io.Reader, samples io.Writer) error {
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(os.Stderr), zap.InfoLevel))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	measures := metrics.New(registry, cfg, "soak", c.now)
	cloud, err := gce.New(ctx, gce.Options{
		Project: cfg.Project, Endpoint: cfg.Options.ComputeEndpoint, Rate: float64(cfg.Options.APICalls), Log: log, Observe: measures.Called,
	})
	if err != nil {
		return err
	}
	defer cloud.Close()
	slurm := &scontrol.Client{BinDir: cfg.SlurmBinDir, Timeout: commandLimit, Log: log, Observe: measures.Ran}
	board, rounds := web.NewBoard(cfg, c.now), new(counter)
	r := &flex.Reconciler{
		Config: cfg, Scheduler: slurm, Cloud: cloud, Log: log, Now: c.now, Watch: flex.Watchers{board, measures, rounds},
	}
	hints, err := flex.Listen(ctx, flex.SocketPath(cfg.Options.RunDir), cfg.Cluster, log)
	if err != nil {
		return err
	}
	page := web.Server{
		Board: board, Address: cfg.Options.HTTPAddress, Log: log, Now: c.now, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}
	ctx, stop := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { page.Run(ctx) })
	defer serving.Wait()
	defer stop()
	go func() {
		defer stop() // nobody wants anything of us any more
		if err := report(orders, samples, rounds, filepath.Dir(path)); err != nil {
			log.Error("sample", zap.Error(err))
		}
	}()
	return r.Run(ctx, flex.Lock{Dir: cfg.Options.RunDir, Seat: &flex.Seat{Slurm: slurm}}, hints)
}

// report writes a sample for each line that it reads, and puts profiles beside
// it into a folder: they tell what it is that grows.
func report(orders io.Reader, samples io.Writer, rounds *counter, dir string) error {
	lines := bufio.NewScanner(orders)
	for number := 1; lines.Scan(); number++ {
		s, err := takeSample()
		if err != nil {
			return err
		}
		s.Rounds = int(rounds.made.Load())
		for _, name := range []string{"heap", "goroutine"} {
			if err := writeProfile(name, filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, number))); err != nil {
				return err
			}
		}
		if err := json.NewEncoder(samples).Encode(s); err != nil {
			return err
		}
	}
	return lines.Err()
}

func writeProfile(name, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(file, 0), file.Close())
}

// counter counts rounds. It is a flex.Watcher.
type counter struct{ made atomic.Int64 }

// Saw counts nothing.
func (c *counter) Saw(plan.Snapshot, plan.Plan) {}

// Did counts nothing.
func (c *counter) Did(plan.Action, time.Time, time.Duration, error) {}

// Stood counts a round that was made.
func (c *counter) Stood(err error) {
	if err == nil {
		c.made.Add(1)
	}
}
