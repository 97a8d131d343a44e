//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// door is a Compute API that can be replaced while a cluster runs. It can also kill its caller
// after it has handled a call and before it sends the answer.
type door struct {
	mu     sync.Mutex
	cloud  *fakegce.Server
	calls  int
	killAt int // kill after this call; 0: never
	kill   func()
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	cloud := d.cloud
	d.calls++
	last := d.calls == d.killAt
	d.mu.Unlock()
	if !last {
		cloud.ServeHTTP(w, r)
		return
	}
	cloud.ServeHTTP(httptest.NewRecorder(), r)
	d.kill()
}

// fresh replaces the cloud with an empty one.
func (d *door) fresh(killAt int, kill func()) {
	cloud := fakegce.New(fakegce.Options{Project: "demo", OperationTime: 20 * time.Millisecond})
	cloud.SetCapacity("", "", 0)
	for name, machine := range map[string]string{"a3": "a3-megagpu-8g", "g2": "g2-standard-48"} {
		must.Get(cloud.AddTemplate("us-central1", fakegce.FlexTemplate(name, machine)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cloud, d.calls, d.killAt, d.kill = cloud, 0, killAt, kill
}

// what describes the cloud's contents without times and operations.
func (d *door) what() string {
	var b strings.Builder
	for _, g := range d.cloud.State().Groups {
		fmt.Fprintf(&b, "%s %s %d %s\n", g.Name, g.Description, g.TargetSize, g.Template)
		for _, r := range g.Requests {
			fmt.Fprintf(&b, "  %s %s %v %s\n", r.Name, r.State, r.Instances, r.Duration)
		}
	}
	return b.String()
}

func (d *door) settled() bool {
	for _, g := range d.cloud.State().Groups {
		for _, r := range g.Requests {
			if r.State == "CREATING" {
				return false
			}
		}
	}
	return true
}

// waiting starts a cluster without hooks, with a job that waits for two machines and with a cloud
// without capacity.
func waiting(t *testing.T) (*lab.Lab, *door) {
	d := &door{}
	d.fresh(0, nil)
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	l := cluster(t, lab.Options{NoHooks: true, Endpoint: server.URL})
	submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	await(t, time.Minute, "two nodes to power up", func() bool {
		n := 0
		for _, node := range flexNodes(t, l) {
			if node.State.Has(slurm.PoweringUp) {
				n++
			}
		}
		return n == 2
	})
	return l, d
}

const undisturbed = `alpha-a3-job-1 {"slurmflex":1,"cluster":"alpha","nodeset":"a3","job":1} 2 projects/demo/regions/us-central1/instanceTemplates/a3
  a1 ACCEPTED [alpha-a3-0 alpha-a3-1] 15m0s
`

func TestSyncCompletesAResumeKilledAfterAnyCall(t *testing.T) {
	l, d := waiting(t)
	ctx := context.Background()
	for killAt := 1; ; killAt++ {
		pass := l.Command(ctx, nil, "pass", "--verb", "resume", "--nodes", "alpha-a3-[0-1]")
		d.fresh(killAt, func() { _ = pass.Process.Kill() })
		err := pass.Run()
		killed := d.calls >= killAt
		if !killed {
			require.NoError(t, err)
			require.Greater(t, killAt, 6, "a resume that makes so few calls does nothing")
			break
		}
		require.Error(t, err)
		_, err = l.Flex(ctx, "sync")
		require.NoError(t, err, "killed after call %d", killAt)
		await(t, time.Minute, "the request to be accepted", d.settled)
		require.Equal(t, undisturbed, d.what(), "killed after call %d", killAt)
	}
	assert.Equal(t, undisturbed, d.what())
}

// TestDaemonKilledAtAnyMomentLosesNoJob kills the daemon 108 times at random moments while jobs come, wait
// at Google in one place or in two, start and end. Each job runs once, and nothing is left.
func TestDaemonKilledAtAnyMomentLosesNoJob(t *testing.T) {
	const kills = 108
	l := cluster(t, lab.Options{Daemon: true, NodeSets: []lab.NodeSet{
		{Name: "us", Machine: "a3-highgpu-8g", Size: 8, FlexKeys: "use_job_duration: true"},
		{Name: "eu", Machine: "a3-ultragpu-8g", Size: 8, FlexKeys: "use_job_duration: true"},
	}})
	seed := uint64(time.Now().UnixNano())
	draw := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	ran := filepath.Join(l.Dir, "ran")
	jobs, inTwo := map[string]bool{}, 0
	shapes := [][]string{{"-p", "us", "-N1"}, {"-p", "us", "-N2"}, {"-p", "us,eu", "-N2"}, {"-p", "eu,us", "-N1"}, {"-p", "eu", "-N1", "--array=0-1"}}
	for k := range kills {
		if k%4 == 0 { // capacity comes and goes
			capacity(t, l, "", 16*(k/4%2))
		}
		if waiting := strings.Fields(ask(t, l, "squeue", "-h", "-o", "%i")); len(waiting) < 6 {
			shape := shapes[draw.IntN(len(shapes))]
			id := submitScript(t, l, fmt.Sprintf("echo $SLURM_JOB_ID >>%s; sleep %d", ran, draw.IntN(4)), append(shape, "--time=15")...)
			if strings.Contains(shape[1], ",") {
				inTwo++
			}
			jobs[id] = true
		}
		time.Sleep(time.Duration(draw.IntN(5000)) * time.Millisecond)
		require.NoError(t, l.KillDaemon())
		time.Sleep(time.Duration(draw.IntN(1000)) * time.Millisecond)
		require.NoError(t, l.StartDaemon(t.Context()))
	}
	capacity(t, l, "", 16)
	awaitShown(t, 5*time.Minute, "all jobs to end", func() (string, bool) {
		left := ask(t, l, "squeue", "-h", "-r", "-o", "%i %P %T %r %v")
		return left, left == ""
	})
	times := map[string]int{}
	for _, id := range strings.Fields(readFile(ran)) {
		times[id]++
	}
	for id, n := range times {
		assert.Equal(t, 1, n, "job %s ran more than once", id)
	}
	assert.GreaterOrEqual(t, len(times), len(jobs), "each job and each task has an ID of its own")
	for id := range jobs {
		assert.Equal(t, 1, times[id], "job %s has run", id)
	}
	t.Logf("%d kills, %d jobs, of which %d in two places", kills, len(jobs), inTwo)
	assert.NotContains(t, readFile(l.Log("daemon.log")), "panic")
	awaitNothingLeft(t, l)
	awaitNoDoors(t, l)
}

func TestRepeatedManualResumeMakesOneRequest(t *testing.T) {
	l, d := waiting(t)
	ctx := context.Background()
	d.fresh(0, nil)
	file := filepath.Join(l.Dir, "resume.json")
	require.NoError(t, os.WriteFile(file, []byte(
		`{"jobs":[{"job_id":1,"nodes_resume":"alpha-a3-[0-1]"}],"all_nodes_resume":"alpha-a3-[0-1]"}`), 0o644))
	for range 2 {
		require.NoError(t, l.Command(ctx, []string{"SLURM_RESUME_FILE=" + file}, "resume", "alpha-a3-[0-1]").Run())
		await(t, time.Minute, "the request", func() bool { return d.what() == undisturbed })
	}
	out, err := l.Flex(ctx, "plan")
	require.NoError(t, err)
	assert.NotContains(t, out, "create")
	assert.NotContains(t, out, "request 2")
	out, err = l.Flex(ctx, "status")
	require.NoError(t, err)
	assert.Regexp(t, `a3 +1 +\S+ +alpha-a3-\[0-1\] +queued +00:15:00`, out)
}

// A2: a late or manual call, while neither a daemon nor a pass can handle it.
func TestUnhandledResumeKeepsTheNodesOfARunningJob(t *testing.T) {
	l := withDaemon(t)
	id := submitScript(t, l, "sleep 600", "-p", "train", "-N2", "--time=15")
	awaitJob(t, l, 90*time.Second, id, "JobState", "RUNNING")
	require.NoError(t, l.StopDaemon())
	require.NoError(t, os.Chmod(filepath.Join(l.Dir, "run"), 0o755))
	_, err := l.Flex(context.Background(), "resume", "alpha-a3-[0-1]")
	require.ErrorContains(t, err, "daemon not reachable")
	assert.Equal(t, "RUNNING", jobField(t, l, id, "JobState"))
	for _, node := range []string{"alpha-a3-0", "alpha-a3-1"} {
		assert.NotContains(t, nodeState(t, l, node), "POWERING_DOWN")
	}
}
