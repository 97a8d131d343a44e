// Command demo shows the main use case: a real Slurm, the fake Compute API, and one sbatch that
// gets its flex-start nodes, runs, and leaves no resources. With --gke, the nodes are pods of a
// stand-in for a GKE cluster. It works in temporary folders and removes them even when interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/lab"
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
	s.access = gce.Options{Project: "demo", Endpoint: l.Endpoint, CredentialsFile: filepath.Join(l.Dir, "etc/key.json")}
	s.supply = func(ctx context.Context, machines int) error {
		return l.Tell(ctx, "capacity", map[string]any{"zone": "", "machineType": "", "count": machines})
	}
	if onGKE {
		if err := kubernetes.join(l); err != nil {
			return err
		}
		excerpts = []excerpt{excerpts[0], {l.Config(), "    nodeset_name: flex", "  cpu:"}, {l.Config(), "  regions:", "  compute_endpoint:"}}
		s.partition, s.region, s.supply = "flex", lab.GKERegion, kubernetes.supply
		s.access.Regions = []gce.Region{{Name: s.region, Endpoint: kubernetes.gateway.Endpoint}}
	}
	for _, e := range excerpts {
		if err := e.show(); err != nil {
			return err
		}
	}
	return s.follow(ctx)
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

// follow submits the job, prints its events, and prints the remaining resources at the end.
func (s *story) follow(ctx context.Context) (err error) {
	if s.client, err = gce.New(ctx, s.access); err != nil {
		return err
	}
	defer s.client.Close()
	if err := s.supply(ctx, 0); err != nil {
		return err
	}
	s.nodes, s.begun, s.told = 2, time.Now(), map[string]bool{}
	fmt.Printf("\n$ sbatch -p %s -N%d --time=15 --wrap 'srun hostname'    (no capacity for the first 5 s)\n", s.partition, s.nodes)
	out, err := s.lab.Slurm(ctx, "sbatch", "--parsable", "-o", filepath.Join(s.lab.Dir, "job.out"), "-p", s.partition,
		fmt.Sprintf("-N%d", s.nodes), "--time=15", "--wrap", "srun hostname")
	if err != nil {
		return err
	}
	s.job = strings.TrimSpace(out)
	for !s.ended {
		if err := s.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("stopped before the end;  "+s.summary()), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	line := s.summary()
	fmt.Println(line)
	if line != fmt.Sprintf("demo: job COMPLETED on %d flex nodes; left behind: 0 instances, 0 groups, 0 requests", s.nodes) {
		return errors.New("this is not how it should end")
	}
	return nil
}

var jobFields = regexp.MustCompile(`JobState=(\w+).* NodeList=(\S*)`)

// jobRow returns the job's state in Slurm's words and the job's current or former nodes.
func jobRow(ctx context.Context, l *lab.Lab, job string) (state string, nodes []string, err error) {
	out, err := l.Slurm(ctx, "scontrol", "show", "job", job, "-o")
	if err != nil {
		return "", nil, err
	}
	found := jobFields.FindStringSubmatch(out)
	if found == nil {
		return "", nil, fmt.Errorf("scontrol shows no state and no nodes for job %s", job)
	}
	if found[2] != "" && found[2] != "(null)" {
		nodes, err = slurm.Expand(found[2])
	}
	return found[1], nodes, err
}
