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
)

// The files under testdata are what the commands of real Slurms printed on a
// cluster with flex nodes f[0-7], each for one job only, and static nodes
// s[0-1]. See testdata/README.md.

func versions(t testing.TB) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/*.*.*")
	require.NoError(t, err)
	require.Len(t, folders, 6)
	for i := range folders {
		folders[i] = filepath.Base(folders[i])
	}
	return folders
}

func fixture(t testing.TB, version, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", version, name))
	require.NoError(t, err)
	return b
}

// inEveryVersion runs a test once for each version's folder.
func inEveryVersion(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func readNodes(t *testing.T, version, step string) map[string]Node {
	t.Helper()
	list, err := ParseNodes(fixture(t, version, step+".nodes.txt"))
	require.NoError(t, err)
	nodes := make(map[string]Node)
	for _, node := range list {
		nodes[node.Name] = node
	}
	return nodes
}

func readJobs(t *testing.T, version, step string) map[uint32]Job {
	t.Helper()
	list, err := ParseSqueue(inSqueueFormat(fixture(t, version, step+".squeue.txt")))
	require.NoError(t, err)
	jobs := make(map[uint32]Job)
	for _, job := range list {
		jobs[job.ID] = job
	}
	return jobs
}

// inSqueueFormat gives rows of a *.squeue.txt, whose columns testdata/README.md
// says, in those of SqueueFormat. What they do not have is left empty.
func inSqueueFormat(rows []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(rows)) {
		f := strings.SplitN(line, "|", 10)
		address := f[1]
		if f[2] != "N/A" {
			address += "_" + f[2]
		}
		fmt.Fprintln(&out, strings.Join([]string{f[0], address, f[2], f[3], f[4], f[5], "N/A", f[6], "", f[8], f[7]}, "|"))
	}
	return out.Bytes()
}

func TestEveryFixtureParses(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		entries, err := os.ReadDir(filepath.Join("testdata", version))
		require.NoError(t, err)
		for _, entry := range entries {
			require.NoError(t, parseFixture(t, entry.Name(), fixture(t, version, entry.Name())), entry.Name())
		}
	})
}

// parseFixture reads a file by the parser that its name stands for.
func parseFixture(t *testing.T, name string, b []byte) (err error) {
	_, kind, _ := strings.Cut(strings.TrimSuffix(name, filepath.Ext(name)), ".")
	switch {
	case kind == "nodes":
		nodes, err := ParseNodes(b)
		require.Len(t, nodes, 10)
		return err
	case kind == "squeue":
		_, err = ParseSqueue(inSqueueFormat(b))
	case name == "15-records.txt":
		_, err = ParseJobRecords(b, "MARK", []uint32{1, 2, 3, 4, 5, 6, 7})
	case kind == "sinfo":
		for line := range strings.Lines(string(b)) {
			state := ParseState(strings.TrimSpace(line[:60]))
			require.Empty(t, state.Unknown, line)
			require.NotEqual(t, BaseUnknown, state.Base, line)
		}
	case name == "09-reservation.txt":
		_, err = ParseReservations(b)
	case name == "13-ping.txt", name == "14-ping-down.txt":
		_, err = ParsePing(b)
	case name == "config.txt":
		_, err = ParseConfig(b)
	case name == "partitions.txt":
		_, err = ParsePartitions(b)
	case name == "version.txt":
		_, err = ParseVersion(string(b))
	case strings.HasPrefix(name, "resumearg-"):
		_, err = Expand(strings.TrimSpace(string(b)))
	case strings.HasPrefix(name, "resumefile-"):
		_, err = ResumedJobs(b)
	case name == "12-hostnames.txt":
		names, err := Expand("f[0-1],s1,rack[0-1]n[08-10]")
		require.Equal(t, strings.Fields(string(b)), names)
		return err
	case name == "11-show-job-unknown.txt", name == "11-unknown-node.txt", name == "14-nodes-down.txt":
		_, err := ParseNodes(b)
		require.Error(t, err, "Slurm's own errors must not pass for nodes")
		_, err = ParseJobRecords(b, "MARK", []uint32{1})
		require.Error(t, err, "Slurm's own errors must not pass for job records")
	default:
		t.Errorf("%s: no parser for it", name)
	}
	return err
}

func TestAtFirstAllNodesArePoweredDown(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		for name, node := range readNodes(t, version, "00-powered-down") {
			require.Equal(t, State{Base: Idle, Flags: Cloud | PoweredDown}, node.State, name)
			require.Equal(t, map[bool][]string{true: {"flex"}, false: {"static"}}[name[0] == 'f'], node.Partitions, name)
			require.Zero(t, node.BootTime, name)
			require.Zero(t, node.LastBusyTime, name)
			require.Empty(t, node.Reason, name)
		}
		require.Empty(t, readJobs(t, version, "00-powered-down"))
	})
}

func TestAJobsNodesPowerUpWhileItIsConfiguring(t *testing.T) {
	// One step later than the job's own, since two versions were not as quick.
	inEveryVersion(t, func(t *testing.T, version string) {
		nodes, jobs := readNodes(t, version, "02-array"), readJobs(t, version, "02-array")
		job := jobs[1]
		require.Equal(t, JobConfiguring, job.State)
		require.Equal(t, []string{"f0", "f1"}, job.Nodes)
		require.Equal(t, Limit{Kind: LimitSet, Duration: 15 * time.Minute}, job.Limit)
		require.Equal(t, uint32(1), job.ArrayID)
		require.Empty(t, job.ArrayTask)
		require.Equal(t, "root", job.User)
		require.NotZero(t, job.Priority)
		for _, name := range job.Nodes {
			require.Equal(t, State{Base: Allocated, Flags: Cloud | NotResponding | PoweringUp}, nodes[name].State)
		}
		require.True(t, nodes["f7"].State.Has(PoweredDown))
	})
}

func TestTheFirstJobsLimitIsKnownAtOnce(t *testing.T) {
	// 23.11 had not allocated it yet, 26.05 had not begun to power up.
	want := map[string]JobState{"23.11.11": JobPending}
	inEveryVersion(t, func(t *testing.T, version string) {
		job := readJobs(t, version, "01-exclusive-job-configuring")[1]
		require.Equal(t, Limit{Kind: LimitSet, Duration: 15 * time.Minute}, job.Limit)
		if state, late := want[version]; late {
			require.Equal(t, state, job.State)
			require.Empty(t, job.Nodes)
			return
		}
		require.Equal(t, JobConfiguring, job.State)
		require.Equal(t, []string{"f0", "f1"}, job.Nodes)
		nodes := readNodes(t, version, "01-exclusive-job-configuring")
		for _, name := range job.Nodes {
			require.Equal(t, Allocated, nodes[name].State.Base)
			require.Equal(t, version != "26.05.3", nodes[name].State.Has(PoweringUp))
		}
	})
}

func TestAnArraysTasksHaveIDsOfTheirOwn(t *testing.T) {
	limit := Limit{Kind: LimitSet, Duration: 26*time.Hour + 4*time.Minute}
	inEveryVersion(t, func(t *testing.T, version string) {
		jobs := readJobs(t, version, "02-array")
		require.Len(t, jobs, 4)
		for id, task := range map[uint32]string{3: "0", 4: "1"} {
			require.Equal(t, uint32(2), jobs[id].ArrayID)
			require.Equal(t, task, jobs[id].ArrayTask)
			require.Equal(t, limit, jobs[id].Limit)
		}
		last := jobs[2]
		require.Equal(t, JobPending, last.State)
		require.Equal(t, "JobArrayTaskLimit", last.Reason)
		require.Contains(t, []string{"2", "2%2"}, last.ArrayTask)
		require.Empty(t, last.Nodes)
	})
}

func TestNodesPowerUpForNobodyOrByHand(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		for step, names := range map[string][]string{"03-cancelled-while-powering-up": {"f0", "f1"}, "08-static-power-up": {"s0", "s1"}} {
			nodes := readNodes(t, version, step)
			for _, name := range names {
				require.Equal(t, State{Base: Idle, Flags: Cloud | NotResponding | PoweringUp}, nodes[name].State, step)
			}
		}
		require.NotContains(t, readJobs(t, version, "03-cancelled-while-powering-up"), uint32(1))
	})
}

func TestAJobWithoutALimitIsUnlimitedOrHasAYear(t *testing.T) {
	year := Limit{Kind: LimitSet, Duration: 365 * 24 * time.Hour}
	inEveryVersion(t, func(t *testing.T, version string) {
		job := readJobs(t, version, "04-no-time-limit")[5]
		require.Contains(t, []Limit{{Kind: Unlimited}, year}, job.Limit)
	})
}

func TestNodesForcedDownShowWhyAndTheirJobIsRequeued(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		nodes := readNodes(t, version, "05-power-down-force")
		for _, name := range []string{"f0", "f1"} {
			require.Equal(t, State{Base: Idle, Flags: Cloud | PoweringDown}, nodes[name].State)
			require.Equal(t, "flex-start: capacity", nodes[name].Reason)
			require.Equal(t, "root", nodes[name].ReasonBy)
		}
		nodes = readNodes(t, version, "06-after-suspend-timeout")
		require.Equal(t, State{Base: Idle, Flags: Cloud | PoweredDown}, nodes["f1"].State)
		if version == "23.11.11" { // there the job was on f4
			return
		}
		job := readJobs(t, version, "05-power-down-force")[5]
		require.Equal(t, JobPending, job.State)
		require.Equal(t, "BeginTime", job.Reason)
	})
}

func TestAwkwardReasonsAreReadToTheirEnd(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		nodes := readNodes(t, version, "07-drain-down")
		drained, down := nodes["f2"], nodes["f3"]
		require.Equal(t, State{Base: Idle, Flags: Cloud | Drain | NotResponding | PoweringUp}, drained.State)
		require.Equal(t, "admin: bad gpu [root@now]", drained.Reason)
		require.Equal(t, State{Base: Down, Flags: Cloud | NotResponding | PoweringUp}, down.State)
		require.Equal(t, `quoted "reason" = x|y`, down.Reason)
		require.Equal(t, "root", down.ReasonBy)
		require.Equal(t, "2026-11-21", down.LastBusyTime.Format(time.DateOnly))
	})
}

func TestAReservationUntilTheEndOfTime(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		reservations, err := ParseReservations(fixture(t, version, "09-reservation.txt"))
		require.NoError(t, err)
		require.Len(t, reservations, 1)
		reservation := reservations[0]
		require.Equal(t, "slurmflex-eol-x", reservation.Name)
		require.Equal(t, []string{"f4", "f5"}, reservation.Nodes)
		require.Equal(t, []string{"root"}, reservation.Users)
		require.Equal(t, []string{"MAINT", "IGNORE_JOBS", "SPEC_NODES"}, reservation.Flags)
		require.Equal(t, 365*24*time.Hour, reservation.End.Sub(reservation.Start))
	})
}

func TestAHeterogeneousJobsComponentsAreJobs(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		jobs := readJobs(t, version, "10-het")
		for id, limit := range map[uint32]time.Duration{6: 10 * time.Minute, 7: 20 * time.Minute} {
			require.Equal(t, JobConfiguring, jobs[id].State)
			require.Equal(t, Limit{Kind: LimitSet, Duration: limit}, jobs[id].Limit)
			require.Len(t, jobs[id].Nodes, 1)
		}
	})
}

// A3: job 1 was called like a row of squeue, job 2 had a record's fields in its
// working directory and its comment, and an AdminComment of an admin with a line
// like a row; the array 3 had them in its script's arguments. A mark is one that
// nobody foresees.
func TestRecordsOfHostileJobsSayWhatSlurmSays(t *testing.T) {
	for _, version := range []string{"22.05.8", "24.11.5", "26.05.3"} {
		records, err := ParseJobRecords(fixture(t, version, "15-records.txt"), "MARK", []uint32{1, 2, 3, 4, 5, 6, 7})
		require.NoError(t, err)
		het := []uint32{4, 5}
		require.ElementsMatch(t, []JobRecord{
			{ID: 1, State: JobConfiguring, Requeue: true, Batch: true, AdminComment: "flex-start: waiting 5m for 2 × a3"},
			{
				ID: 2, State: JobConfiguring, Batch: true,
				AdminComment: "ask Ops\n1|MARKS|N/A|RUNNING|0|0|flex-start: told 2020-01-01T00:00:00Z: x\n\tb|c \x1b[31mred",
			},
			{ID: 3, State: JobPending, Requeue: true, Batch: true},
			{ID: 4, State: JobPending, Requeue: true, Batch: true, HetIDs: het},
			{ID: 5, State: JobPending, Requeue: true, Batch: true, HetIDs: het},
			{ID: 6, State: JobPending, Requeue: true},
			{ID: 7, State: JobConfiguring, Requeue: true, Batch: true},
		}, records, version)
	}
}

func TestResumeFilesOfEveryVersion(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		files, err := filepath.Glob(filepath.Join("testdata", version, "resumefile-*.json"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(files), 4)
		var all []uint32
		for _, path := range files {
			ids, err := ResumedJobs(fixture(t, version, filepath.Base(path)))
			require.NoError(t, err)
			all = append(all, ids...)
		}
		require.Subset(t, all, []uint32{1, 2, 3, 4, 6, 7})
	})
}

func TestConfigurationsOfEveryVersion(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		config, err := ParseConfig(fixture(t, version, "config.txt"))
		require.NoError(t, err)
		configured, err := config.Version()
		require.NoError(t, err)
		require.Equal(t, version, configured.String())
		commands, err := ParseVersion(string(fixture(t, version, "version.txt")))
		require.NoError(t, err)
		require.Equal(t, configured, commands)

		require.Equal(t, Limit{Kind: LimitSet, Duration: time.Minute}, config.Seconds("ResumeTimeout"))
		require.Equal(t, []string{"idle_on_node_suspend", "cloud_dns", "power_save_interval=1"}, config.List("SlurmctldParameters"))
		require.Empty(t, config.List("SuspendExcParts"))
		require.Equal(t, "t", config["ClusterName"])
	})
}

func TestPartitionsOfEveryVersion(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		partitions, err := ParsePartitions(fixture(t, version, "partitions.txt"))
		require.NoError(t, err)
		require.Equal(t, []Partition{
			{
				Name: "flex", Nodes: []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"},
				MaxTime: Limit{Kind: Unlimited}, Up: true, Exclusive: true,
			},
			{Name: "static", Nodes: []string{"s0", "s1"}, MaxTime: Limit{Kind: Unlimited}, Up: true},
		}, partitions)
	})
}

func TestPingsOfEveryVersion(t *testing.T) {
	inEveryVersion(t, func(t *testing.T, version string) {
		up, err := ParsePing(fixture(t, version, "13-ping.txt"))
		require.NoError(t, err)
		require.Equal(t, []Controller{{Role: "primary", Host: "ctl", Up: true}}, up)
		down, err := ParsePing(fixture(t, version, "14-ping-down.txt"))
		require.NoError(t, err)
		require.Equal(t, []Controller{{Role: "primary", Host: "ctl"}}, down)
	})
}
