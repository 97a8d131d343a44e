//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// seedOfTheDay returns the seed of drawn jobs: another each day, or E2E_SEED.
func seedOfTheDay() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64); err == nil {
		return seed
	}
	return uint64(time.Now().Unix() / 86400)
}

// pendingAndOracle returns two clusters with the same nodes. In the second one, Slurm allocates nodes at
// once. Both have static nodes, and two nodesets keep their machines for a while, if keeps is set.
func pendingAndOracle(t *testing.T, keeps bool) (pending, oracle *lab.Lab) {
	t.Helper()
	o := lab.Options{Daemon: true, Partitions: []string{
		"aa: {partition_name: aa, enable_job_exclusive: true, partition_nodeset: [a]}",
		"bc: {partition_name: bc, enable_job_exclusive: true, partition_nodeset: [b, c]}",
	}}
	for name, machine := range map[string]string{"a": "a2-highgpu-8g", "b": "a3-highgpu-8g", "c": "g2-standard-48", "d": "h4d-standard-192"} {
		set := lab.NodeSet{Name: name, Machine: machine, Size: 16, FlexKeys: "use_job_duration: true"}
		switch {
		case keeps && name == "d":
			set.Static = 2
		case keeps && name != "a":
			set.FlexKeys = "keep_idle: 45"
		}
		o.NodeSets = append(o.NodeSets, set)
	}
	pending = cluster(t, o)
	o.Configuring = true
	oracle, err := start(t, o)
	t.Cleanup(func() {
		if !t.Failed() {
			oracle.Remove()
			return
		}
		oracle.Stop()
		t.Logf("logs of the other cluster are in %s", oracle.Log(""))
	})
	require.NoError(t, err)
	for _, l := range []*lab.Lab{pending, oracle} {
		addRacks(t, l)
	}
	return pending, oracle
}

// submitBoth submits the jobs to both clusters, changes some, and returns their options by their names. It counts those
// that both refuse, and cancels those that only the oracle refuses: behind the cover, Slurm looks only at
// reserved nodes' names when it refuses, not at their options.
func submitBoth(t *testing.T, pending, oracle *lab.Lab, jobs []drawnJob, runs string, change func(drawnJob) string) (options map[string]string, refused, impossible int) {
	t.Helper()
	options = map[string]string{}
	earlier := map[*lab.Lab]string{}
	for i, job := range jobs {
		name := fmt.Sprintf("j%d", i)
		options[name] = strings.Join(job.args, " ")
		ids := map[*lab.Lab]string{}
		for _, l := range []*lab.Lab{pending, oracle} {
			args := slices.Clone(job.args)
			for k := range args {
				args[k] = strings.ReplaceAll(args[k], "EARLIER", earlier[l])
			}
			out, err := l.Slurm(t.Context(), "sbatch", slices.Concat([]string{"--parsable", "-o", "/dev/null", "-J", name}, args, []string{"--wrap", runs})...)
			if err == nil {
				ids[l] = strings.TrimSpace(out)
			}
		}
		switch {
		case ids[pending] == "" && ids[oracle] != "":
			assert.Fail(t, "refused only behind the cover", options[name])
		case ids[pending] == "":
			refused++
		case ids[oracle] == "":
			impossible++
			cancel(t, pending, ids[pending])
		default:
			earlier = ids
			if to := change(job); to != "" {
				options[name] += ", changed: " + to
				for l, id := range ids {
					_, _ = l.Slurm(t.Context(), "scontrol", "update", "jobid="+id, to) // Slurm refuses some changes of jobs that have nodes
				}
			}
		}
	}
	return options, refused, impossible
}

// TestPendingJobsGetTheAnswerThatSlurmGives submits random jobs to two clusters. The same jobs must run in
// both, and no other job may get a machine. There are always enough nodes for all jobs, but not for the largest
// number that a job accepts: while a job has no reservation, Slurm plans nodes for it in each of its partitions.
func TestPendingJobsGetTheAnswerThatSlurmGives(t *testing.T) {
	pending, oracle := pendingAndOracle(t, false)
	shut(t, oracle) // its jobs stay CONFIGURING
	seed := seedOfTheDay()
	d := &drawing{rand.New(rand.NewPCG(seed, 0)), 14}
	var drawn, refused, impossible, ran, differ int
	for begun := time.Now(); drawn < 300 && time.Since(begun) < 10*time.Minute; {
		jobs := d.batch(300 - drawn)
		drawn += len(jobs)
		options, no, never := submitBoth(t, pending, oracle, jobs, "sleep 1000", func(drawnJob) string { return "" })
		refused, impossible = refused+no, impossible+never
		time.Sleep(2 * settling)
		var got, want map[string]int
		if err := lab.Until(t.Context(), 4*time.Minute, "the same jobs", func() (bool, error) {
			got, want = jobsIn(t, pending, "R"), jobsIn(t, oracle, "CF")
			return maps.Equal(got, want), nil
		}); err != nil {
			differ++
			for name, args := range options {
				assert.Equal(t, want[name], got[name], "running tasks of %s: %s", name, args)
			}
			t.Logf("pending:\n%s", ask(t, pending, "squeue", "-r", "-o", "%i %j %P %D %T %r %v %Y %S %N"))
			t.Logf("reservations:\n%s", ask(t, pending, "scontrol", "-o", "show", "reservation"))
			t.Logf("oracle:\n%s", ask(t, oracle, "squeue", "-r", "-o", "%i %j %P %D %T %r %N"))
		}
		for _, tasks := range got {
			ran += tasks
		}
		awaitShown(t, 3*time.Minute, "no machine without a job", func() (string, bool) {
			used := strings.Fields(ask(t, pending, "squeue", "-h", "-t", "R", "-o", "%N"))
			hosts := strings.Fields(ask(t, pending, "scontrol", "show", "hostnames", strings.Join(used, ",")))
			var idle []string
			for _, in := range state(t, pending).Instances {
				if !slices.Contains(hosts, in.Name) {
					idle = append(idle, in.Name)
				}
			}
			return fmt.Sprint(idle), len(idle) == 0
		})
		for _, l := range []*lab.Lab{pending, oracle} {
			cancel(t, l, "-u", "root")
		}
		awaitNothingLeft(t, pending)
		awaitNothingLeft(t, oracle)
	}
	t.Logf("seed %d: %d jobs, %d refused, %d impossible ones accepted behind the cover; %d jobs and tasks ran; %d batches differ", seed, drawn, refused, impossible, ran, differ)
	assert.Greater(t, ran, 50)
}

// TestScarceNodesServeEveryJob submits three times as many random jobs as both clusters have nodes for. The
// same jobs must be left in the end: those that are held, for example.
func TestScarceNodesServeEveryJob(t *testing.T) {
	pending, oracle := pendingAndOracle(t, true)
	seed := seedOfTheDay()
	d := &drawing{rand.New(rand.NewPCG(seed, 1)), 50}
	jobs := d.batch(300)
	d.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	options, _, _ := submitBoth(t, pending, oracle, jobs, "sleep 2", d.change)
	moved, rest := time.Now(), jobsIn(t, pending, "all")
	for time.Since(moved) < 4*time.Minute {
		left, want := jobsIn(t, pending, "R,PD,CF,CG"), jobsIn(t, oracle, "R,PD,CF,CG")
		if maps.Equal(left, want) && time.Since(moved) > time.Minute {
			t.Logf("seed %d: %d jobs, %d of them have tasks that do not run", seed, len(jobs), len(left))
			return
		}
		if !maps.Equal(left, rest) {
			moved, rest = time.Now(), left
		}
		time.Sleep(settling)
	}
	for name := range rest {
		t.Logf("left: %s: %s", name, options[name])
	}
	t.Fatalf("seed %d: not the same jobs are left as in the oracle:\n%s", seed, ask(t, oracle, "squeue", "-r", "-o", "%j %K %T %r"))
}

// addRacks gives the halves of each nodeset a feature and a switch of their own, and each nodeset the
// feature of its GPUs.
func addRacks(t *testing.T, l *lab.Lab) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^NodeName=alpha-([abcd])-\[0-15\] (.*)Port=\[(\d+)-\d+\](.*)$`)
	conf := line.ReplaceAllStringFunc(readFile(l.Conf()), func(text string) string {
		part := line.FindStringSubmatch(text)
		port, _ := strconv.Atoi(part[3])
		gpu := map[string]string{"a": "a100", "b": "h100", "c": "l4", "d": "cpu"}[part[1]]
		half := "NodeName=alpha-%s-[%d-%d] %sPort=[%d-%d]%s Feature=%s,rack%d"
		return fmt.Sprintf(half+"\n"+half, part[1], 0, 7, part[2], port, port+7, part[4], gpu, 1, part[1], 8, 15, part[2], port+8, port+15, part[4], gpu, 2)
	})
	require.Equal(t, 8, strings.Count(conf, ",rack"))
	topology := "SwitchName=others Nodes=alpha-a3-[0-7],alpha-g2-[0-3],alpha-cpu-[0-1]\nSwitchName=top Switches=others,sa,sb,sc,sd\n"
	for _, set := range []string{"a", "b", "c", "d"} {
		topology += fmt.Sprintf("SwitchName=%[1]s1 Nodes=alpha-%[1]s-[0-7]\nSwitchName=%[1]s2 Nodes=alpha-%[1]s-[8-15]\nSwitchName=s%[1]s Switches=%[1]s[1-2]\n", set)
	}
	require.NoError(t, os.WriteFile(l.Conf(), []byte(conf+"TopologyPlugin=topology/tree\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(l.Dir, "etc/topology.conf"), []byte(topology), 0o644))
	require.NoError(t, l.Restart(t.Context()))
}

// jobsIn returns the names of the jobs in a state, each with the number of its tasks. Which tasks of an
// array run first does not matter.
func jobsIn(t *testing.T, l *lab.Lab, state string) map[string]int {
	t.Helper()
	tasks := map[string]int{}
	for _, name := range strings.Fields(ask(t, l, "squeue", "-h", "-r", "-t", state, "-o", "%j")) {
		tasks[name]++
	}
	return tasks
}

// drawing draws jobs.
type drawing struct {
	*rand.Rand
	room int // nodes of each nodeset for the jobs of a batch
}

// drawnJob is a job's options, with EARLIER for the ID of an earlier job.
type drawnJob struct {
	args  []string
	most  int    // nodes that all its tasks may use
	sets  string // nodesets of its partitions
	picky int    // how few nodes fit it, compared with others
}

// batch draws jobs that fit beside each other: those that fewer nodes fit come first.
func (d *drawing) batch(most int) (jobs []drawnJob) {
	demand, pinned := map[rune]int{}, map[string]bool{}
	for len(jobs) < most {
		job := d.job()
		for _, set := range job.sets {
			demand[set] += (job.most + len(job.sets) - 1) / len(job.sets)
			if demand[set] > d.room {
				most = 0
			}
		}
		if names := job.args[len(job.args)-1]; job.picky == 3 {
			if pinned[names] {
				continue
			}
			pinned[names] = true
		}
		if most > 0 || len(jobs) == 0 {
			jobs = append(jobs, job)
		}
	}
	slices.SortStableFunc(jobs, func(a, b drawnJob) int { return b.picky - a.picky })
	return jobs
}

func (d *drawing) job() drawnJob {
	partition := d.of("a", "aa", "bc", "bc", "d", "b", "c", "a,d", "d,a", "bc,a", "a,aa", "aa,bc", "c,b")
	j := drawnJob{args: []string{"-p", partition, "-t", d.of("20", "60", "300", "2000")}}
	for _, set := range "abcd" {
		if strings.ContainsRune(partition, set) {
			j.sets += string(set)
		}
	}
	n := 1 + d.IntN(3)
	switch kind := d.of("count", "count", "count", "range", "tasks", "tasks per node", "array", "throttled", "het"); kind {
	case "count":
		j.args, j.most = append(j.args, fmt.Sprint("-N", n)), n
		if d.IntN(6) == 0 {
			j.args, j.picky = append(j.args, "--switches=1"), 2
		}
	case "range":
		j.args, j.most = append(j.args, fmt.Sprintf("-N%d-%d", n, n+1)), n+1
	case "tasks":
		j.args, j.most = append(j.args, fmt.Sprint("-n", n), "-c", d.of("1", "90")), n
	case "tasks per node":
		j.args, j.most = append(j.args, fmt.Sprint("-n", 2*n), "--ntasks-per-node=2"), n
	case "array":
		j.args, j.most = append(j.args, "-N1", fmt.Sprint("--array=0-", n)), n+1
	case "throttled":
		j.args, j.most = append(j.args, "-N1", fmt.Sprint("--array=0-3%", n)), n
	case "het":
		j.args, j.most = append(j.args, fmt.Sprint("-N", n), ":", "-N1", "-p", d.of("d", "bc")), n+1
		return j
	}
	switch d.IntN(9) {
	case 0, 1, 2:
		j.args = append(j.args, "--gres="+d.of("gpu:1", "gpu:4", "gpu:8", "gpu:a100:2", "gpu:h100:8", "gpu:l4:1", "gpu:h100:1"))
	case 3:
		j.args = append(j.args, d.of("--gpus-per-node=2", "--gpus-per-node=a100:1", "--gpus-per-node=l4:4", "--gpus=8", "--gpus-per-task=1", "--contiguous"))
	}
	if d.IntN(3) == 0 {
		j.args, j.picky = append(j.args, "--constraint="+d.of("a100", "h100", "l4", "rack1", "rack2", "h100|l4", "[rack1|rack2]", "rack2&l4", "a100|cpu", "[h100|l4]")), max(j.picky, 1)
	}
	switch d.IntN(20) {
	case 0:
		j.args = append(j.args, "--begin=now+3600")
	case 1:
		j.args = append(j.args, "--dependency=afterok:EARLIER")
	case 2:
		j.args = append(j.args, "--hold")
	case 3:
		j.args, j.picky = append(j.args, "--exclude="+d.of("alpha-a-[0-6]", "alpha-b-[0-7]", "alpha-c-[0-3],alpha-d-[0-9]", "alpha-a-0,alpha-b-0,alpha-c-0,alpha-d-0")), max(j.picky, 1)
	case 4, 5:
		j.args, j.picky = append(j.args, "-w"+d.of("alpha-a-[3-4]", "alpha-a-7", "alpha-b-2", "alpha-c-[1,5]", "alpha-d-9", "alpha-b-15")), 3
	}
	return j
}

// change returns a change of a job with which it can still run where it could; most often none.
func (d *drawing) change(job drawnJob) string {
	options := strings.Join(job.args, " ")
	changes := []string{
		"TimeLimit=15", "TimeLimit=700", "ExcNodeList=alpha-a-14,alpha-c-14,alpha-d-14", "Nice=50", "StartTime=now+20", "Partition=a,bc,d",
		"Features=", "Comment=slurmflex:wait=3h", "ArrayTaskThrottle=1",
	}
	if !strings.Contains(options, " -w") && strings.Contains(options, " -N") {
		changes = append(changes, "NumNodes=1", "NumNodes=2")
	}
	if d.IntN(3) > 0 {
		return ""
	}
	return d.of(changes...)
}

func (d *drawing) of(choices ...string) string { return choices[d.IntN(len(choices))] }
