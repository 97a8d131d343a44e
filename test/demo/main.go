// Command demo shows the main use case: a real Slurm, the fake Compute API, and one sbatch that
// gets its flex-start nodes, runs, and leaves no resources. It works in a temporary folder and
// removes it even when interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/slurm"
	"slurmflex/test/lab"
)

// limit bounds the whole demo; Slurm alone takes up to 30 s to start a batch job after its last
// node is up.
const limit = 6 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := demo(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	build, err := filepath.Abs(filepath.Dir(os.Args[0]))
	if err != nil {
		return err
	}
	fmt.Println("starting a private Slurm, the fake Compute API and slurmflex's daemon")
	l, err := lab.Start(ctx, lab.Options{
		Build: build, Scripts: filepath.Join(filepath.Dir(build), "scripts"), Name: "demo", Daemon: true,
	})
	defer l.Remove()
	if err != nil {
		return err
	}
	fmt.Printf("Slurm %s, Compute API at %s\n", l.Version, l.Endpoint)
	for _, part := range []struct{ file, from, to string }{
		{l.Conf(), "ResumeProgram", "PartitionName=train"},
		{l.Config(), "nodeset:", "  g2:"},
	} {
		if err := show(part.file, part.from, part.to); err != nil {
			return err
		}
	}
	return follow(ctx, l)
}

// show prints the lines of a file from the first line with prefix from to the next line with prefix
// to. If to starts with a space, the last line belongs to the next section and is omitted.
func show(file, from, to string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s:\n", filepath.Base(file))
	on := false
	for line := range strings.Lines(string(text)) {
		on = on || strings.HasPrefix(line, from)
		last := strings.HasPrefix(line, to)
		if on && !(last && strings.HasPrefix(to, " ")) {
			fmt.Print("  ", line)
		}
		if last {
			return nil
		}
	}
	return fmt.Errorf("%s lacks lines from %q to %q", file, from, to)
}

// follow submits the job, prints its events, and prints the remaining resources at the end.
func follow(ctx context.Context, l *lab.Lab) error {
	const nodes = 2
	if err := l.Tell(ctx, "capacity", map[string]any{"zone": "", "machineType": "", "count": 0}); err != nil {
		return err
	}
	fmt.Printf("\n$ sbatch -p train -N%d --time=15 --wrap 'srun hostname'    (no capacity for the first 5 s)\n", nodes)
	begun := time.Now()
	out, err := l.Slurm(ctx, "sbatch", "--parsable", "-o", filepath.Join(l.Dir, "job.out"), "-p", "train",
		fmt.Sprintf("-N%d", nodes), "--time=15", "--wrap", "srun hostname")
	if err != nil {
		return err
	}
	s := story{lab: l, job: strings.TrimSpace(out), nodes: nodes, begun: begun, told: map[string]bool{}}
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
	if line != fmt.Sprintf("demo: job COMPLETED on %d flex nodes; left behind: 0 instances, 0 groups, 0 requests", nodes) {
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
