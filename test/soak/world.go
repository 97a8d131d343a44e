package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"slurmflex/flex"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
)

// tick is how often the models are let do what is due, in real time.
const tick = 10 * time.Millisecond

// world is the Slurm and the Compute that the daemon is given, and its host.
type world struct {
	clock  clock
	place  place
	static map[string]bool // nodes

	time      *fakegce.ManualClock // which the models go by; it follows clock
	cloud     *fakegce.Server
	slurm     *fakeslurm.Cluster
	slurmctld *slurmctld

	running sync.WaitGroup
	close   []func()
}

// idleTime is how long Compute keeps a connection that nobody uses: shorter than
// the daemon is left alone before it is looked at, so that only those are counted
// that it has not let go of.
const idleTime = time.Second

// newWorld sets the world up, with the host in a folder.
func newWorld(dir, build string) (*world, error) {
	w := &world{clock: clock{time.Now()}, place: place{dir: dir}, static: map[string]bool{}}
	w.time = fakegce.NewManualClock(w.clock.begun)
	cloud := cloudOptions(w.time)
	cloud.OnBoot = func(in fakegce.Instance) { w.slurm.Register(in.Name, w.time.Now()) }
	cloud.OnDelete = func(in fakegce.Instance) { w.slurm.Silence(in.Name) }
	w.cloud = fakegce.New(cloud)
	for _, machine := range []string{loose, tight} {
		if _, err := w.cloud.AddTemplate(region, fakegce.FlexTemplate(machine, machine)); err != nil {
			return nil, err
		}
	}
	o := slurmOptions(w.time.Now)
	o.Resume = func(nodes []string, _ []uint32) { w.hook(flex.Hint{Verb: "resume", Nodes: slurm.Fold(nodes)}) }
	o.Suspend = func(nodes []string) { w.hook(flex.Hint{Verb: "suspend", Nodes: slurm.Fold(nodes)}) }
	o.ResumeFail = func(nodes []string) { w.hook(flex.Hint{Verb: "resume-fail", Nodes: slurm.Fold(nodes)}) }
	for _, node := range o.SuspendExc {
		w.static[node] = true
	}
	w.slurm = fakeslurm.New(o)
	w.slurmctld = &slurmctld{model: w.slurm, now: w.time.Now}
	if err := w.furnish(build); err != nil {
		w.shut()
		return nil, err
	}
	return w, nil
}

// furnish puts in place what the daemon finds on its host: the commands of
// Slurm, its configuration, and Compute at an address.
func (w *world) furnish(build string) error {
	for _, folder := range []string{"bin", "run"} {
		if err := os.Mkdir(filepath.Join(w.place.dir, folder), 0o700); err != nil {
			return err
		}
	}
	command := filepath.Join(build, "slurmcommand")
	if _, err := os.Stat(command); err != nil {
		return fmt.Errorf("%w; run make soak, or give its folder by --build", err)
	}
	for _, program := range []string{"scontrol", "squeue", "scancel"} {
		if err := os.Symlink(command, filepath.Join(w.place.dir, "bin", program)); err != nil {
			return err
		}
	}
	commands, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(w.place.dir, "bin", "slurmctld.sock"), Net: "unix"})
	if err != nil {
		return err
	}
	w.running.Go(func() { w.slurmctld.serve(commands) })
	w.close = append(w.close, func() { commands.Close() })

	compute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: w.cloud, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleTime}
	w.running.Go(func() { _ = server.Serve(compute) })
	w.close = append(w.close, func() { server.Close() })
	w.place.endpoint = "http://" + compute.Addr().String()

	if w.place.page, err = freeAddress(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.place.dir, "config.yaml"), []byte(daemonConfig(w.place)), 0o600)
}

// freeAddress is one on which nobody listens at the moment.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// shut ends what furnish has begun.
func (w *world) shut() {
	for _, end := range w.close {
		end()
	}
	w.running.Wait()
}

// pass lets time pass, up to now.
func (w *world) pass() {
	w.cloud.Advance(w.clock.now().Sub(w.time.Now()))
	w.slurm.Step()
}

// hook is Slurm's call of one of the programs, which hands over to the daemon.
// That the daemon has no time for it within 60 ms loses nothing: the next round
// sees what there is to do.
func (w *world) hook(h flex.Hint) {
	w.running.Go(func() { _ = flex.Send(context.Background(), flex.SocketPath(filepath.Join(w.place.dir, "run")), h) })
}

// left is what keeps the world from being at rest: a job, a node that is up
// without being static or down though it is, or what is in the cloud for none.
// It is empty at rest.
func (w *world) left(ctx context.Context) (string, error) {
	jobs, err := w.slurm.Jobs(ctx)
	if err != nil {
		return "", err
	}
	if len(jobs) > 0 {
		j := jobs[0]
		return fmt.Sprintf("job %d is %s (%s) on %s", j.ID, j.State, j.Reason, slurm.Fold(j.Nodes)), nil
	}
	nodes, err := w.slurm.Nodes(ctx)
	if err != nil {
		return "", err
	}
	for _, n := range nodes {
		up := !n.State.Has(slurm.PoweredDown) && !n.State.Has(slurm.PoweringDown) && !n.State.Has(slurm.PoweringUp)
		if w.static[n.Name] != up || !up && !n.State.Has(slurm.PoweredDown) {
			return fmt.Sprintf("node %s is %s (%s)", n.Name, n.State, n.Reason), nil
		}
	}
	if text := w.leftInCloud(w.cloud.State()); text != "" {
		return text, nil
	}
	reservations, err := w.slurm.Reservations(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range reservations {
		if !slices.ContainsFunc(r.Nodes, w.isStatic) {
			return "reservation " + r.Name + " is there", nil
		}
	}
	return "", nil
}

// leftInCloud is what is there for no static node.
func (w *world) leftInCloud(st fakegce.State) string {
	for _, in := range st.Instances {
		if !w.static[in.Name] {
			return fmt.Sprintf("machine %s is %s", in.Name, in.Status)
		}
	}
	for _, g := range st.Groups {
		serves := func(r fakegce.Request) bool { return slices.ContainsFunc(r.Instances, w.isStatic) }
		if !slices.ContainsFunc(g.Requests, serves) {
			return "group " + g.Name + " is there"
		}
	}
	if len(st.Policies) > 0 {
		return "policy " + st.Policies[0] + " is there"
	}
	return ""
}

func (w *world) isStatic(node string) bool { return w.static[node] }

// waiting are the requests that wait for capacity.
func (w *world) waiting() (all []request) {
	for _, g := range w.cloud.State().Groups {
		for _, r := range g.Requests {
			if r.State == "ACCEPTED" {
				all = append(all, request{g.Name, r.Name})
			}
		}
	}
	return all
}

// request names a resize request.
type request struct{ group, name string }

// machines are the names of those that run, sorted.
func (w *world) machines() []string {
	names := map[string]bool{}
	for _, in := range w.cloud.State().Instances {
		if in.Status == "RUNNING" {
			names[in.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// release releases the jobs that are held, as an admin does now and then.
func (w *world) release(ctx context.Context) error {
	jobs, err := w.slurm.Jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.State == slurm.JobPending && strings.Contains(strings.ToLower(j.Reason), "held") {
			if err := w.slurm.Release(j.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
