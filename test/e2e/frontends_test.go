//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
	"slurmflex/test/lab"
)

// frontEnd is a tool that submits jobs for users: its sbatch options, its query about a job, and
// its conclusion from the answer. In commands, $J is the job's id and $N its name.
// docs/other-tools.md names the releases from which this data was taken.
type frontEnd struct {
	name      string
	options   string
	asks      string
	concludes func(answer string) string // waits, runs or over
	// configuring is its conclusion for a job that waits CONFIGURING; empty: waits.
	configuring string
	cancels     string        // empty: scancel $J
	since       slurm.Version // the first version that has the options
}

var frontEnds = []frontEnd{
	{
		name: "SkyPilot, launch", options: "--nodes=2 --wait-all-nodes=1 --no-requeue --cpus-per-task=8 --mem=64000M --gres=gpu:h100:8",
		asks:        "squeue -h --only-job-state --jobs $J -o %T || squeue -h --jobs $J -o %T; squeue -h --jobs $J -o %N",
		concludes:   allocated, // a job with nodes counts as running: the tool resolves the nodes' names
		configuring: "runs", cancels: "scancel --name $N",
	},
	{
		name: "SkyPilot, managed job", options: "--no-requeue --gres=gpu:8 --time=15", // untyped
		asks: "squeue --me -h -o '%i %t' --states pending,running --name $N", concludes: states(1, "PD", "R"),
		configuring: "over", // the tool submits the job again, and cannot cancel the first one
	},
	{
		name: "dstack", options: "--no-requeue --nodes=1 --ntasks-per-node=1 --cpus-per-task=8 --gres=gpu:1",
		asks: "squeue -j $J --only-job-state -h -o %T", concludes: states(0, "PENDING CONFIGURING", "RUNNING"),
		since: slurm.Version{Major: 23, Minor: 11},
	},
	{
		name: "JupyterHub batchspawner", options: "--time=15",
		asks: "squeue -h -j $J -o '%T %B'", concludes: states(0, "PENDING CONFIGURING", "RUNNING COMPLETING"),
	},
	{
		name: "Nextflow", options: "--no-requeue --signal=B:USR2@30 -c 4 -t 00:15:00 --mem 32000M",
		asks: "squeue --noheader -o '%i %t' -t all -u root", concludes: states(1, "PD CF", "R CG"),
	},
	{
		name: "Open OnDemand", options: "--export=NONE --time=15",
		asks: "squeue --all --states=all --noconvert --noheader -o '%i %t'", concludes: states(1, "PD CF", "R CG"),
	},
	{
		name: "Snakemake without slurmdbd", options: "--comment=rule_train --export=ALL --time=15 --ntasks=1",
		asks: "squeue --format='%i|%T' --states=all --noheader --name $N", concludes: states(1, "PENDING CONFIGURING", "RUNNING COMPLETING"),
	},
	{
		name: "Parsl without slurmdbd", options: "--nodes=1 --time=00:15:00 --exclusive",
		asks: "squeue --noheader --format='%i %t' --job $J", concludes: states(1, "PD CF", "R CG"),
	},
	{
		name: "Metaflow, Airflow", options: "--time=15",
		asks: "scontrol --oneliner show job $J | grep -o 'JobState=[A-Z]*' | cut -d = -f 2", concludes: states(0, "PENDING CONFIGURING", "RUNNING COMPLETING"),
	},
	{
		name: "TorchX, Flyte", options: "--time=15",
		asks: "squeue --json -j $J", concludes: firstState, configuring: "runs",
		since: slurm.Version{Major: 23, Minor: 11},
	},
	{
		name: "Martian", options: "--time=15",
		asks: "squeue -h -o '%A %t' -j $J", concludes: states(1, "PD", "CG R RD RS SO"), configuring: "over", // the tool fails the stage
	},
}

// accounted lists the front ends that query slurmdbd.
var accounted = []frontEnd{
	{
		name: "Snakemake", options: "--comment=rule_train --time=15",
		asks:      "sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime now-2days --endtime now --name $N",
		concludes: states(1, "PENDING", "RUNNING COMPLETING"), configuring: "runs",
	},
	{
		name: "submitit", options: "--time=15 --signal=USR2@90 --open-mode=append",
		asks: "sacct -o JobID,State,NodeList --parsable2 -j $J", concludes: states(1, "PENDING", "RUNNING"), configuring: "runs",
	},
	{
		name: "Parsl", options: "--nodes=1 --time=15 --exclusive",
		asks: "sacct -X --noheader --format=jobid,state%20 --job $J", concludes: states(1, "PENDING", "RUNNING"), configuring: "runs",
	},
}

// states reads a job's state from a column of its line, as a front end does. A job without a line,
// or with any other state, is over.
func states(column int, waits, runs string) func(string) string {
	return func(answer string) string {
		for line := range strings.Lines(answer) {
			fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" |\n", r) })
			switch {
			case len(fields) <= column || column > 0 && fields[0] != "$J":
			case slices.Contains(strings.Fields(waits), fields[column]):
				return "waits"
			case slices.Contains(strings.Fields(runs), fields[column]):
				return "runs"
			}
		}
		return "over"
	}
}

// allocated reads the state and the nodes of a job.
func allocated(answer string) string {
	state, nodes, _ := strings.Cut(answer, "\n")
	alive := states(0, "PENDING CONFIGURING", "RUNNING")(state)
	if alive != "over" && strings.TrimSpace(nodes) != "" {
		return "runs"
	}
	return alive
}

// firstState reads the first of a job's states from JSON.
func firstState(answer string) string {
	var all struct {
		Jobs []struct {
			ID    int      `json:"job_id"`
			State []string `json:"job_state"`
		}
	}
	if json.Unmarshal([]byte(answer), &all) != nil || len(all.Jobs) != 1 || len(all.Jobs[0].State) == 0 {
		return "over"
	}
	return states(0, "PENDING", "RUNNING")(all.Jobs[0].State[0])
}

// toolJob is a front end's job.
type toolJob struct {
	frontEnd
	id string
}

// shell runs a command as the front end does and returns its output. $J stands for the job's id.
func (j toolJob) shell(l *lab.Lab, command string) string {
	command = strings.NewReplacer("$J", j.id, "$N", j.jobName()).Replace(command)
	// Slurm's commands fail for a job that is gone.
	out, _ := l.Client(context.Background(), "/bin/sh", "-c", command).Output()
	return regexp.MustCompile(`(?m)^`+j.id+`\b`).ReplaceAllString(string(out), "$$J")
}

// jobName returns the name without commas, which separate names in squeue's arguments.
func (j toolJob) jobName() string { return strings.NewReplacer(",", "", " ", "-").Replace(j.name) }

// concludesAll asserts what each front end concludes about its job.
func concludesAll(t *testing.T, l *lab.Lab, phase string, jobs []toolJob, want func(frontEnd) string) {
	t.Helper()
	for _, j := range jobs {
		awaitShown(t, time.Minute, j.name+": the job that "+phase+" "+want(j.frontEnd), func() (string, bool) {
			answer := j.shell(l, j.asks)
			return j.concludes(answer) + ", from: " + answer, j.concludes(answer) == want(j.frontEnd)
		})
	}
}

func TestFrontEndsUnderstandAWaitingJob(t *testing.T) {
	for mode, slurmdbd := range map[string]bool{
		"pending": false, "configuring": false, "pending, with slurmdbd": true, "configuring, with slurmdbd": true,
	} {
		t.Run(mode, func(t *testing.T) {
			waiting, _, _ := strings.Cut(mode, ",")
			l := cluster(t, lab.Options{Daemon: true, Configuring: waiting == "configuring", Accounting: slurmdbd, NodeSets: []lab.NodeSet{
				{Name: "more", Machine: "a3-highgpu-8g", Size: 8, FlexKeys: "use_job_duration: true"},
			}})
			shut(t, l)
			all := frontEnds
			if slurmdbd {
				all = accounted
			}
			var jobs []toolJob
			var ids []string
			for _, tool := range all {
				if !l.Version.AtLeast(tool.since.Major, tool.since.Minor) {
					continue
				}
				j := toolJob{frontEnd: tool}
				options := append(strings.Fields(tool.options), "-J", j.jobName(), "-p", []string{"train", "more"}[len(jobs)%2])
				j.id = submitScript(t, l, "sleep 1000", options...)
				jobs, ids = append(jobs, j), append(ids, j.id)
			}
			await(t, time.Minute, "their requests", func() bool { return len(state(t, l).Groups) == len(jobs) })
			concludes := func() {
				concludesAll(t, l, "waits", jobs, func(tool frontEnd) string {
					if waiting == "configuring" && tool.configuring != "" {
						return tool.configuring
					}
					return "waits"
				})
			}
			concludes()
			if os.Getenv("E2E_ALL") != "" { // a tool may stop waiting for a job later
				time.Sleep(time.Minute)
				concludes()
			}
			capacity(t, l, "", 16)
			for _, id := range ids {
				awaitRunning(t, l, id)
			}
			concludesAll(t, l, "runs", jobs, func(frontEnd) string { return "runs" })
			for _, j := range jobs {
				j.shell(l, cmp.Or(j.cancels, "scancel $J"))
			}
			concludesAll(t, l, "was cancelled", jobs, func(frontEnd) string { return "over" })
			awaitNothingLeft(t, l)
		})
	}
}

// Behind a cover, Slurm sees no node on which a job could ever start.
func TestNonWaitingCommandsFailBehindTheCover(t *testing.T) {
	l := withDaemon(t)
	for command, says := range map[string]string{
		"sbatch --test-only -p train -N1 --wrap true":             "allocation failure: Requested node configuration is not available",
		"srun --immediate=3 -p train -N1 true":                    "srun: error: Unable to allocate resources: ",
		"salloc --immediate=3 -p train -N1 true":                  "salloc: error: Unable to allocate resources: ",
		"sbatch -p train --gres=gpu:a100:8 --wrap true":           "Requested node configuration is not available",
		"sbatch -p train --gpus-per-node=a100:1 -N1 --wrap true":  "Requested node configuration is not available",
		"sbatch --test-only -p cpu -N1 --wrap true; echo started": "started",
	} {
		out, _ := l.Client(context.Background(), "/bin/sh", "-c", command).CombinedOutput()
		assert.Contains(t, string(out), says, command)
	}
	awaitNothingLeft(t, l)
}
