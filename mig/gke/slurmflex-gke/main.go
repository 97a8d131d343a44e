// Command slurmflex-gke serves nodes on GKE's flex-start to slurmflex.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"slurmflex/mig/gke"
)

const usage = `slurmflex-gke serves a region of slurmflex from a GKE cluster: a machine is a pod with slurmd on a flex-start node.

Usage:
  slurmflex-gke [flags]      answer slurmflex until SIGTERM
  slurmflex-gke template     print the default pod template

Credentials are those of --kubeconfig, of $KUBECONFIG, of ~/.kube/config, or of the pod that this runs in.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "slurmflex-gke:", err)
		os.Exit(1)
	}
}

type options struct {
	config, kubeconfig, listen, watch, tokenFile string
	debug                                        bool
}

// flags returns the flags that set the options. Its help goes to out.
func (o *options) flags(out io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("slurmflex-gke", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.config, "config", "/etc/slurmflex/gke.yaml", "configuration `file`")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8930", "`address` for slurmflex")
	flags.StringVar(&o.watch, "watch", "127.0.0.1:8931", "`address` of /metrics and /healthz; empty: none")
	flags.StringVar(&o.tokenFile, "token-file", "", "`file` with the token that calls must carry; needed unless --listen is a loopback address")
	flags.BoolVar(&o.debug, "debug", false, "log each call")
	return flags
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	var o options
	flags := o.flags(out)
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "template":
		_, err := io.WriteString(out, gke.DefaultTemplate)
		return err
	case "":
		g, err := o.gateway(log)
		if err != nil {
			return err
		}
		return o.serve(ctx, g, out)
	default:
		return fmt.Errorf("unexpected argument %q; see slurmflex-gke --help", flags.Arg(0))
	}
}

// gateway returns the gateway to the cluster.
func (o options) gateway(log io.Writer) (*gke.Gateway, error) {
	settings, err := gke.Load(o.config)
	if err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubernetes credentials: %s; give --kubeconfig", strings.Join(strings.Fields(err.Error()), " "))
	}
	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}
	return gke.New(settings, config, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level})))
}

// serve answers slurmflex until ctx ends.
func (o options) serve(ctx context.Context, g *gke.Gateway, out io.Writer) error {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	if at, ok := listener.Addr().(*net.TCPAddr); o.tokenFile == "" && (!ok || !at.IP.IsLoopback()) {
		return fmt.Errorf("anyone who reaches %s could request machines; give --token-file, or a loopback address", o.listen)
	}
	servers := []*http.Server{{Handler: g.Handler(o.tokenFile), ReadHeaderTimeout: 10 * time.Second}}
	failures := make(chan error, 2)
	go func() { failures <- servers[0].Serve(listener) }()
	if o.watch != "" {
		servers = append(servers, &http.Server{Addr: o.watch, Handler: g.Watch(), ReadHeaderTimeout: 10 * time.Second})
		go func() { failures <- servers[1].ListenAndServe() }()
	}
	fmt.Fprintf(out, "slurmflex-gke serves at http://%s\n", listener.Addr())
	running, end := context.WithCancel(ctx)
	defer end()
	passes := make(chan struct{})
	go func() {
		defer close(passes)
		g.Run(running)
	}()
	select {
	case err = <-failures:
	case <-ctx.Done():
	}
	end()
	<-passes
	for _, s := range servers {
		s.Close()
	}
	return err
}
