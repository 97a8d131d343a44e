package slurm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// The files under testdata hold the output of real Slurm commands on a cluster with exclusive flex
// nodes f[0-7] and static nodes s[0-1]. See testdata/README.md.

func versions(t testing.TB) []string {
	t.Helper()
	folders := must.Get(filepath.Glob("testdata/*.*.*"))
	require.Len(t, folders, 6)
	for i := range folders {
		folders[i] = filepath.Base(folders[i])
	}
	return folders
}

func fixture(t testing.TB, version, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("testdata", version, name)))
}

// inEveryVersion runs a test once for each version's folder.
func inEveryVersion(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

// read returns the nodes and jobs that a version shows at a step.
func read(t *testing.T, version, step string) (nodes map[string]Node, jobs map[uint32]Job) {
	t.Helper()
	nodes, jobs = map[string]Node{}, map[uint32]Job{}
	for _, node := range parsed(t, ParseNodes, fixture(t, version, step+".nodes.txt")) {
		nodes[node.Name] = node
	}
	for _, job := range parsed(t, readSqueue, inSqueueFormat(fixture(t, version, step+".squeue.txt"))) {
		jobs[job.ID] = job
	}
	return nodes, jobs
}

// inSqueueFormat converts rows of a *.squeue.txt to the columns of SqueueFormat. testdata/README.md
// describes the columns of the file. Missing columns become empty.
func inSqueueFormat(rows []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(rows)) {
		f := strings.SplitN(line, "|", 10)
		address := f[1]
		if f[2] != "N/A" {
			address += "_" + f[2]
		}
		fmt.Fprintln(&out, strings.Join([]string{f[0], address, f[2], f[3], f[4], f[5], "N/A", f[6], "", f[8], "", "", "", "", "", "", "", "", "", "", "", f[7]}, "|"))
	}
	return out.Bytes()
}

// Other tests read the other files.
func TestEveryFixtureOfNodesAndJobsParses(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		steps := must.Get(filepath.Glob(filepath.Join("testdata", version, "*.nodes.txt")))
		for _, path := range steps {
			nodes, _ := read(t, version, strings.TrimSuffix(filepath.Base(path), ".nodes.txt"))
			require.Len(t, nodes, 10)
		}
		names, err := Expand("f[0-1],s1,rack[0-1]n[08-10]")
		require.NoError(t, err)
		require.Equal(t, strings.Fields(string(fixture(t, version, "12-hostnames.txt"))), names)
	})
}

func TestEachVersionShowsTheExpectedStates(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		nodes, jobs := read(t, version, "00-powered-down")
		for name, node := range nodes {
			partition := map[bool][]string{true: {"flex"}, false: {"static"}}[name[0] == 'f']
			require.Equal(t, Node{Name: name, State: State{Base: Idle, Flags: Cloud | PoweredDown}, Partitions: partition, Addr: "127.0.0.1", CPUs: 2, Memory: 1}, node)
		}
		require.Empty(t, jobs)

		nodes, jobs = read(t, version, "02-array")
		job := jobs[1]
		require.NotZero(t, job.Priority)
		job.Priority, job.Start, job.Reason, job.Partition = 0, time.Time{}, "", ""
		require.Equal(t, Job{ID: 1, ArrayID: 1, Limit: limitOf(15 * time.Minute), State: JobConfiguring, Nodes: []string{"f0", "f1"}, User: "root"}, job)
		for _, name := range job.Nodes {
			require.Equal(t, State{Base: Allocated, Flags: Cloud | NotResponding | PoweringUp}, nodes[name].State)
		}
		require.True(t, nodes["f7"].State.Has(PoweredDown))
		require.Len(t, jobs, 4)
		for id, task := range map[uint32]string{3: "0", 4: "1"} {
			require.Equal(t, uint32(2), jobs[id].ArrayID)
			require.Equal(t, task, jobs[id].ArrayTask)
			require.Equal(t, limitOf(26*time.Hour+4*time.Minute), jobs[id].Limit)
		}
		require.Equal(t, JobPending, jobs[2].State)
		require.Equal(t, "JobArrayTaskLimit", jobs[2].Reason)
		require.Contains(t, []string{"2", "2%2"}, jobs[2].ArrayTask)
		require.Empty(t, jobs[2].Nodes)

		nodes, jobs = read(t, version, "05-power-down-force")
		for _, name := range []string{"f0", "f1"} {
			require.Equal(t, State{Base: Idle, Flags: Cloud | PoweringDown}, nodes[name].State)
			require.Equal(t, []string{"flex-start: capacity", "root"}, []string{nodes[name].Reason, nodes[name].ReasonBy})
		}
		if version != "23.11.11" { // in 23.11.11 the job was on f4
			require.Equal(t, JobPending, jobs[5].State, "its job is requeued")
			require.Equal(t, "BeginTime", jobs[5].Reason)
		}
	})
}

// A3: the name of job 1 looks like a row of squeue. Job 2 has fields of a record in its working
// directory and its comment, and an admin's AdminComment with a line like a row. Array 3 has such
// text in the arguments of its script. Real marks are unpredictable.
func TestRecordsOfHostileJobsMatchSlurm(t *testing.T) {
	for _, version := range []string{"22.05.8", "24.11.5", "26.05.3"} {
		records, err := ParseJobRecords(fixture(t, version, "15-records.txt"), "MARK", []uint32{1, 2, 3, 4, 7})
		require.NoError(t, err)
		require.ElementsMatch(t, []JobRecord{
			{ID: 1, State: JobConfiguring, Requeue: true, Batch: true, AdminComment: "flex-start: waiting 5m for 2 × a3"},
			{
				ID: 2, State: JobConfiguring, Batch: true,
				AdminComment: "ask Ops\n1|MARKS|RUNNING|0|0|N/A|0:00|flex-start: told 2020-01-01T00:00:00Z: x\n\tb|c \x1b[31mred",
				Comment:      "slurmflex:wait=90m\n3|MARKS|RUNNING|0|0|N/A|0:00|<MARKS>Deadline=2020-01-01T00:00:00",
				Deadline:     time.Date(2030, 11, 22, 21, 23, 40, 0, time.UTC), MinTime: 12 * time.Minute,
			},
			{ID: 3, State: JobPending, Requeue: true, Batch: true},
			{ID: 4, State: JobPending, Requeue: true},
			{ID: 7, State: JobConfiguring, Requeue: true, Batch: true},
		}, records, version)
	}
}

func TestEachVersionDescribesItsCluster(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		config, err := ParseConfig(fixture(t, version, "config.txt"))
		require.NoError(t, err)
		configured, err := ParseVersion(config["SLURM_VERSION"])
		require.NoError(t, err)
		require.Equal(t, version, configured.String())
		commands, err := ParseVersion(string(fixture(t, version, "version.txt")))
		require.NoError(t, err)
		require.Equal(t, configured, commands)
		require.Equal(t, limitOf(time.Minute), config.Seconds("ResumeTimeout"))
		require.Equal(t, []string{"idle_on_node_suspend", "cloud_dns", "power_save_interval=1"}, config.List("SlurmctldParameters"))
		require.Empty(t, config.List("SuspendExcParts"))
		require.Equal(t, "t", config["ClusterName"])

		unlimited := Limit{Kind: Unlimited}
		require.Equal(t, []Partition{
			{Name: "flex", Nodes: []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"}, MaxTime: unlimited, Up: true, Begins: true, Tier: 1, PerNode: map[string]int64{"cpu": 2, "billing": 2}, Exclusive: true},
			{Name: "static", Nodes: []string{"s0", "s1"}, MaxTime: unlimited, Up: true, Begins: true, Tier: 1, PerNode: map[string]int64{"cpu": 2, "billing": 2}},
		}, parsed(t, ParsePartitions, fixture(t, version, "partitions.txt")))
		for file, up := range map[string]bool{"13-ping.txt": true, "14-ping-down.txt": false} {
			require.Equal(t, []Controller{{Role: "primary", Host: "ctl", Up: up}}, parsed(t, ParsePing, fixture(t, version, file)))
		}

		reservations := parsed(t, ParseReservations, fixture(t, version, "09-reservation.txt"))
		require.Len(t, reservations, 1)
		start := reservations[0].Start
		require.Equal(t, Reservation{
			Name: "slurmflex-eol-x", Nodes: []string{"f4", "f5"}, Users: []string{"root"},
			Flags: []string{"MAINT", "IGNORE_JOBS", "SPEC_NODES"}, Start: start, End: start.Add(365 * 24 * time.Hour),
		}, reservations[0], "it lasts until the end of time")

		files := must.Get(filepath.Glob(filepath.Join("testdata", version, "resumefile-*.json")))
		require.GreaterOrEqual(t, len(files), 4)
		var all []uint32
		for _, path := range files {
			all = append(all, parsed(t, ResumedJobs, fixture(t, version, filepath.Base(path)))...)
		}
		require.Subset(t, all, []uint32{1, 2, 3, 4, 6, 7})
	})
}
