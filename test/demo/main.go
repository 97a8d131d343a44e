// Command demo shows the main use case: a real Slurm, the fake Compute API, and one sbatch that
// gets its flex-start nodes, runs, and leaves no resources. With --gke, the nodes are pods of a
// stand-in for a GKE cluster. It works in temporary folders and removes them even when interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/mig/gce"
	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// limit bounds the whole demo; Slurm alone takes up to 30 s to start a batch job after its last
// node is up.
const limit = 6 * time.Minute

func main() {
	onGKE := flag.Bool("gke", false, "run the job on GKE")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := demo(ctx, *onGKE)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, onGKE bool) error {
	build, err := filepath.Abs(filepath.Dir(os.Args[0]))
	if err != nil {
		return err
	}
	o := lab.Options{Build: build, Scripts: filepath.Join(filepath.Dir(build), "scripts"), Name: "demo", Daemon: true}
	var kubernetes gke
	if onGKE {
		fmt.Println("starting a stand-in for GKE, and slurmflex's gateway to it")
		kubernetes, err = startGKE(build)
		defer kubernetes.stop()
		if err != nil {
			return err
		}
		o.Keys = lab.GKEEndpoint(kubernetes.gateway.Endpoint)
		o.NodeSets = []lab.NodeSet{lab.GKENodeSet(lab.NodeSet{FlexKeys: "use_job_duration: true"})}
	}
	fmt.Println("starting a private Slurm, the fake Compute API and slurmflex's daemon")
	l, err := lab.Start(ctx, o)
	defer l.Remove()
	if err != nil {
		return err
	}
	fmt.Printf("Slurm %s, Compute API at %s\n", l.Version, l.Endpoint)
	excerpts := []excerpt{{l.Conf(), "ResumeProgram", "PartitionName=train"}, {l.Config(), "nodeset:", "  g2:"}}
	s := story{lab: l, partition: "train", region: "us-central1"}
	access := gce.Options{Project: "demo", Endpoint: l.Endpoint, CredentialsFile: filepath.Join(l.Dir, "etc/key.json")}
	s.supply = func(ctx context.Context, machines int) error {
		return l.Tell(ctx, "capacity", map[string]any{"zone": "", "machineType": "", "count": machines})
	}
	if onGKE {
		// Pods start the slurmds of the cluster.
		if err := os.Symlink(filepath.Join(l.Dir, "bin"), filepath.Join(kubernetes.dir, "programs")); err != nil {
			return err
		}
		excerpts = []excerpt{excerpts[0], {l.Config(), "    nodeset_name: flex", "  cpu:"}, {l.Config(), "  regions:", "  compute_endpoint:"}}
		s.partition, s.region, s.supply = "flex", lab.GKERegion, kubernetes.supply
		access.Regions = []gce.Region{{Name: s.region, Endpoint: kubernetes.gateway.Endpoint}}
	}
	for _, e := range excerpts {
		if err := e.show(); err != nil {
			return err
		}
	}
	if s.client, err = gce.New(ctx, access); err != nil {
		return err
	}
	defer s.client.Close()
	return must.Try(func() { s.follow(ctx) })
}

// excerpt is the lines of a file from the first line with prefix from to the next line with prefix
// to. If to starts with a space, the last line belongs to the next section and is omitted.
type excerpt struct{ file, from, to string }

func (e excerpt) show() error {
	text, err := os.ReadFile(e.file)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s:\n", filepath.Base(e.file))
	on := false
	for line := range strings.Lines(string(text)) {
		on = on || strings.HasPrefix(line, e.from)
		last := on && strings.HasPrefix(line, e.to)
		if on && !(last && strings.HasPrefix(e.to, " ")) {
			fmt.Print("  ", line)
		}
		if last {
			return nil
		}
	}
	return fmt.Errorf("%s lacks lines from %q to %q", e.file, e.from, e.to)
}
