package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // the soak looks into the daemon
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/metrics"
	"slurmflex/flex/web"
	"slurmflex/mig/gce"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/must"
)

// daemonVerb has this program be the daemon of a soak.
const daemonVerb = "daemon"

// commandLimit is how long a command of Slurm's may hang: the better part of an
// hour of the model's time.
const commandLimit = 2 * time.Second

// daemonOfSoak prepares the daemon of a world that goes by a clock.
func (w *world) daemonOfSoak(ctx context.Context, c clock, profiles string) *exec.Cmd {
	begun := strconv.FormatInt(c.begun.UnixNano(), 10)
	return exec.CommandContext(ctx, must.Get(os.Executable()), daemonVerb, w.path("config.yaml"), begun, profiles)
}

// soakedDaemon is that daemon: its configuration, when its clock begins, and where
// it shows profiles of itself.
func soakedDaemon(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s is for soak", daemonVerb)
	}
	return must.Try(func() {
		begun := must.Get(strconv.ParseInt(args[1], 10, 64))
		showAndRun(ctx, args[0], clock{time.Unix(0, begun)}, args[2])
	})
}

// showAndRun does what slurmflex daemon does, with all of its parts, but by the
// model's clock, and shows profiles of this process at an address.
func showAndRun(ctx context.Context, path string, c clock, profiles string) {
	listener := must.Get(net.Listen("tcp", profiles))
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second} // its handler is pprof's, http.DefaultServeMux
	defer server.Close()
	go func() { _ = server.Serve(listener) }()

	cfg := must.Get(config.Load(path))
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(os.Stderr), zap.InfoLevel))
	measures := metrics.New(prometheus.NewRegistry(), cfg, "soak", c.now)
	cloud := must.Get(gce.New(ctx, gce.Options{
		Project: cfg.Project, Endpoint: cfg.Options.ComputeEndpoint, Rate: float64(cfg.Options.APICalls), Log: log, Observe: measures.Called,
	}))
	defer cloud.Close()
	slurm := &scontrol.Client{BinDir: cfg.SlurmBinDir, Timeout: commandLimit, Log: log, Observe: measures.Ran}
	board := web.NewBoard(cfg, c.now)
	r := &flex.Reconciler{
		Config: cfg, Scheduler: slurm, Cloud: cloud, Log: log, Now: c.now, Watch: flex.Watchers{board, measures},
	}
	wakeUps := must.Get(flex.Listen(ctx, flex.SocketPath(cfg.Options.RunDir), cfg.Cluster, log))
	page := web.Server{
		Board: board, Address: cfg.Options.HTTPAddress, Log: log, Now: c.now, Metrics: measures.Handler(log),
	}
	var serving sync.WaitGroup
	serving.Go(func() { page.Run(ctx) })
	defer serving.Wait()
	must.Do(r.Run(ctx, flex.Lock{Dir: cfg.Options.RunDir, Permission: &flex.Permission{Slurm: slurm}}, wakeUps))
}
