package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" // the soak profiles the daemon
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
	"slurmflex/flex/leader"
	"slurmflex/flex/metrics"
	"slurmflex/flex/wake"
	"slurmflex/flex/web"
	"slurmflex/mig/gce"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/must"
)

// daemonVerb makes this program run as the daemon of a soak.
const daemonVerb = "daemon"

// commandLimit is the timeout of Slurm's commands: most of an hour in the model's time.
const commandLimit = 2 * time.Second

// daemonOfSoak prepares a daemon for a world that follows a clock.
func (w *world) daemonOfSoak(ctx context.Context, c clock, profiles string) *exec.Cmd {
	begun := strconv.FormatInt(c.begun.UnixNano(), 10)
	return exec.CommandContext(ctx, must.Get(os.Executable()), daemonVerb, w.path("config.yaml"), begun, profiles)
}

// soakedDaemon runs that daemon. Its arguments are the configuration, the start of its clock, and
// the address of its profiles.
func soakedDaemon(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s is for soak", daemonVerb)
	}
	return must.Try(func() {
		begun := must.Get(strconv.ParseInt(args[1], 10, 64))
		showAndRun(ctx, args[0], clock{time.Unix(0, begun)}, args[2])
	})
}

// showAndRun runs all parts of slurmflex daemon with the model's clock, and serves profiles of this
// process at an address.
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
	wakeUps := must.Get(wake.Listen(ctx, wake.SocketPath(cfg.Options.RunDir), cfg.Cluster, log))
	page := web.Server{
		Board: board, Address: cfg.Options.HTTPAddress, Log: log, Now: c.now, Metrics: measures.Handler(log),
	}
	var serving sync.WaitGroup
	serving.Go(func() { page.Run(ctx) })
	defer serving.Wait()
	must.Do(r.Run(ctx, leader.Lock{Dir: cfg.Options.RunDir, Permission: &leader.Permission{Slurm: slurm}}, wakeUps))
}
