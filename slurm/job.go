package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JobState is the state of a job, in Slurm's spelling.
type JobState string

// States of Slurm 22.05 to 26.05. Base states are first. The rest are states that Slurm shows
// temporarily in place of a base state.
const (
	JobPending     JobState = "PENDING"
	JobRunning     JobState = "RUNNING"
	JobSuspended   JobState = "SUSPENDED"
	JobCompleted   JobState = "COMPLETED"
	JobCancelled   JobState = "CANCELLED"
	JobFailed      JobState = "FAILED"
	JobTimeout     JobState = "TIMEOUT"
	JobNodeFail    JobState = "NODE_FAIL"
	JobPreempted   JobState = "PREEMPTED"
	JobBootFail    JobState = "BOOT_FAIL"
	JobDeadline    JobState = "DEADLINE"
	JobOutOfMemory JobState = "OUT_OF_MEMORY"

	JobRequeued    JobState = "REQUEUED"
	JobRequeueHold JobState = "REQUEUE_HOLD"
	JobSpecialExit JobState = "SPECIAL_EXIT"
	JobConfiguring JobState = "CONFIGURING"
	JobCompleting  JobState = "COMPLETING"
	JobPowerUpNode JobState = "POWER_UP_NODE"
	JobRevoked     JobState = "REVOKED"
	JobResvDelHold JobState = "RESV_DEL_HOLD"
	JobStageOut    JobState = "STAGE_OUT"
	JobExpediting  JobState = "EXPEDITING"
)

// releasedStates are the states of a job without nodes; holdingStates are all other states of Slurm
// 22.05 to 26.05.
var (
	releasedStates = []JobState{
		JobPending, JobExpediting, JobCompleted, JobCancelled, JobFailed, JobTimeout, JobNodeFail, JobPreempted, JobBootFail,
		JobDeadline, JobOutOfMemory, JobRequeued, JobRequeueHold, JobSpecialExit, JobRevoked,
	}
	holdingStates = []JobState{
		JobRunning, JobSuspended, JobConfiguring, JobCompleting, JobPowerUpNode, JobResvDelHold, JobStageOut,
		"LAUNCH_FAILED", "RESIZING", "STOPPED", "RECONFIG_FAIL", "REQUEUE_FED", "SIGNALING",
	}
)

// Waits reports whether a job in that state waits in the queue. A job with --requeue=expedite
// (25.11) shows EXPEDITING and has no nodes from the time it loses its nodes until it starts again,
// even while it is held.
func (s JobState) Waits() bool { return s == JobPending || s == JobExpediting }

// AtWork reports whether all nodes of a job in that state have booted.
func (s JobState) AtWork() bool {
	return s.HoldsNodes() && s != JobConfiguring && s != JobPowerUpNode
}

// HoldsNodes reports whether a job in that state still has its nodes. It is false only in the
// states where Slurm has released the nodes, so that a job in an unknown state keeps them.
func (s JobState) HoldsNodes() bool {
	return !slices.Contains(releasedStates, s)
}

// Job is one row of squeue.
type Job struct {
	// ID is the raw job id, as in a resume file. ArrayID is the id of the array; for a job that is
	// not an array task it equals ID.
	ID, ArrayID uint32
	ArrayTask   string // a task's index, or a set such as "3-9%2"; "" for any other job

	// HetID is the id of the heterogeneous job's first component; 0 if the job is not a component.
	// HetOffset is the index of the component, from 0.
	HetID, HetOffset uint32

	Limit Limit
	State JobState
	Nodes []string // allocated nodes

	// Start is the time at which the job was allocated its nodes. Once they are up, it is the time
	// at which the job started. For a pending job it is the earliest start. Zero if unknown.
	Start time.Time

	NodeCount int // allocated nodes; for a pending job, the minimum it needs; 0 if unknown

	// Planned are the nodes on which Slurm's backfill has planned to start a pending job at Start;
	// empty if there is no plan. An array's row shows the nodes of the task planned last, with the start
	// of the same task before 23.02, and with that of the task planned first from then on.
	Planned []string

	// Features is the --constraint of the job, with spaces in place of bars; "" for none. Gres is what the job requests of each
	// node with --gres or --gpus-per-node, as squeue shows it; "" for none.
	Features, Gres string

	// CPUs is how many the job requests in all, and NodeCPUs how many of each node at least. Memory
	// is what it requests of each node, such as 500G, or of each CPU, such as 4Gc; "0" for none.
	CPUs, NodeCPUs int
	Memory         string

	Priority    uint64   // in the lower 32 bits; 0 if the job is held. A pass adds the partition's tier above them
	Needs       []string // the nodes that the job requests by name
	Excludes    []string // the nodes that the job excludes
	Reservation string   // requested reservation; "" for none
	Reason      string   // why the job is pending
	User        string
	Account     string // "" if Slurm keeps none
	Partition   string // several, joined by commas, while the job may still run in any of them
}

// BeginTime is the reason of a job that may not start before its start time, because its owner set
// one or because Slurm requeued the job. Source: squeue(1), JOB REASON CODES.
const BeginTime = "BeginTime"

// LacksNodes reports whether, as far as Slurm shows, a job that is pending for this reason lacks
// only free nodes. Source: slurmctld's output in test/e2e.
func LacksNodes(reason string) bool {
	word, _, _ := strings.Cut(reason, ",")
	return slices.Contains([]string{"Priority", "Resources", "ReqNodeNotAvail"}, word) || strings.HasPrefix(word, "Nodes required")
}

// LacksNodes reports whether the pending job lacks only nodes, according to Slurm. A reason of None
// means that Slurm has not considered the job yet, so its number of nodes may still change. A job
// with a reservation of its own is left to Slurm.
func (j Job) LacksNodes() bool {
	lacks := LacksNodes(j.Reason) && !strings.Contains(j.Reason, "maintenance") || j.Reason == "Reservation"
	return j.State.Waits() && j.Priority > 0 && lacks && j.Reservation == "" && j.User != "" && j.NodeCount > 0
}

// MayStart reports whether the pending job waits for no other job, and has no reservation of its own, so that
// slurmflex may make one for it.
func (j Job) MayStart() bool {
	return j.State.Waits() && j.Priority > 0 && j.Reservation == "" && j.User != "" && !j.WaitsForJobs()
}

// MayBeLimited reports whether a limit of an account, QOS or license may keep the job pending. Slurm
// shows the limit as the reason, and from time to time None in its place. Source: slurmctld's output in
// test/e2e.
func (j Job) MayBeLimited() bool {
	isLimit := slices.Contains([]string{"", "None", "Licenses"}, j.Reason) || strings.HasPrefix(j.Reason, "Assoc") || strings.HasPrefix(j.Reason, "QOS")
	return j.State.Waits() && j.Priority > 0 && j.Reservation == "" && isLimit
}

// NeedsLimits reports whether the plan for the job, or the reason for its wait, depends on Slurm's
// limits. A job that uses a door may have to wait for a limit when its machines exist.
func (j Job) NeedsLimits() bool {
	return j.LacksNodes() || j.MayBeLimited() || j.State.Waits() && j.Reservation != ""
}

// WaitsForJobs reports whether the pending job depends on other jobs. Source: squeue(1), JOB REASON CODES.
func (j Job) WaitsForJobs() bool {
	return j.Reason == "Dependency" || j.Reason == "DependencyNeverSatisfied"
}

// Tasks returns the indexes of the array tasks that the row covers, lowest first. squeue truncates
// a long list.
func (j Job) Tasks() (tasks []int) {
	text, _, _ := strings.Cut(strings.Trim(j.ArrayTask, "[]"), "%")
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			break
		}
		to, every := from, 1
		if isRange {
			end, step, steps := strings.Cut(last, ":")
			to = numberOr0(end)
			if steps {
				every = max(numberOr0(step), 1)
			}
		}
		for task := from; task <= to; task += every {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Throttle returns the number of tasks of the array that may run at once; 0 if the row shows no
// limit. Once a pending task has a record of its own, squeue adds the task to the array's row and
// leaves the limit out: 5_[0-9%2] becomes 5_[0-9] (22.05, 24.11, 26.05). The option --array-unique
// prevents that on 22.05, but 24.11 and 26.05 lack it. A task with a record of its own shows none.
func (j Job) Throttle() int {
	_, most, _ := strings.Cut(j.ArrayTask, "%")
	return numberOr0(strings.TrimSuffix(most, "]"))
}

// Address returns the job id that scontrol uses: "7", "5_2" for an array task, or "12+1" for a
// component of a heterogeneous job. It is empty for tasks that still share one record.
func (j Job) Address() string {
	if j.IsTasks() {
		return ""
	}
	j.ArrayTask, _, _ = strings.Cut(j.ArrayTask, "%")
	return j.Name()
}

// WholeOf returns the ID of the job, array or heterogeneous job that a job's address is part of.
func WholeOf(address string) string {
	if end := strings.IndexAny(address, "_+"); end >= 0 {
		return address[:end]
	}
	return address
}

// IsTasks reports whether the row covers several array tasks that still share one record.
func (j Job) IsTasks() bool { return strings.ContainsAny(j.ArrayTask, "-,:.") }

var squeueColumns = strings.Split("%A|%i|%K|%l|%T|%N|%S|%Q|%P|%u|%a|%D|%C|%c|%m|%Y|%n|%x|%v|%f|%b|%r", "|")

// freeColumns are the columns that may hold any text: the user's name, which a directory chooses, the
// account, which the owner chooses if Slurm does not check accounts, requested and excluded nodes, features, GPUs, and the reason, because a burst buffer's script can
// repeat the owner's text there.
var freeColumns = []string{"%u", "%a", "%n", "%x", "%f", "%b", "%r"}

// SqueueFormat returns the -o argument of squeue for ParseSqueue. It encloses the freeColumns in
// marks that users cannot predict. It omits the job's name, because nothing needs it.
func SqueueFormat(mark string) string {
	columns := slices.Clone(squeueColumns)
	for i, column := range columns {
		if slices.Contains(freeColumns, column) {
			columns[i] = marked(mark, column)
		}
	}
	return strings.Join(columns, "|")
}

// ParseSqueue parses the output of squeue -h with SqueueFormat(mark) under TZ=UTC. The last column
// is the rest of the line, whatever its content. Empty output means no jobs. Unreadable rows are
// returned as the error Unread, together with the jobs. If no line starts with a job id or has all
// columns, ParseSqueue returns another error. With byTask, the output is that of squeue -r: it has a row for
// each array task, with the same raw id for all tasks that share a record.
func ParseSqueue(out []byte, mark string, byTask bool) ([]Job, error) {
	return readRows("squeue", flatten(string(out), mark), func(line string) bool {
		id, _, more := strings.Cut(line, "|")
		_, err := parseJobID(id)
		return more && err == nil || strings.Count(line, "|") >= len(squeueColumns)-1
	}, func(line string) (Job, UnreadRow, error) {
		job, known, err := parseJob(line)
		if byTask {
			known.task = job.ArrayTask
		}
		return job, known, err
	})
}

// parseJob parses one row. If a field is malformed, known holds the fields before it.
func parseJob(line string) (job Job, known UnreadRow, err error) {
	known = UnreadRow{Kind: JobRow}
	fields := strings.SplitN(line, "|", len(squeueColumns))
	whole := len(fields) == len(squeueColumns)
	if !whole {
		err = fmt.Errorf("%d fields, not %d", len(fields), len(squeueColumns))
		fields = fields[:len(fields)-1] // the last field may be truncated
	}
	for i, field := range fields {
		if wrong := job.setColumn(squeueColumns[i], field); wrong != nil {
			return Job{}, known, wrong
		}
		switch squeueColumns[i] {
		case "%A":
			known.Name = field
		case "%T":
			if slices.Contains(releasedStates, job.State) || slices.Contains(holdingStates, job.State) {
				known.State = job.State
			}
		case "%N":
			// An earlier field that contains a bar may have shifted the columns.
			if known.NodesKnown = known.State != ""; known.NodesKnown {
				known.Nodes = job.Nodes
			}
		}
	}
	// Slurm shows this state instead of PENDING until the job starts again, even once it is released
	// (tried on 26.05).
	if job.State == JobResvDelHold && len(job.Nodes) == 0 {
		job.State = JobPending
	}
	// A job that was requeued and held with this state (RequeueExitHold in slurm.conf) waits to be released.
	if job.State == JobSpecialExit {
		job.State = JobPending
	}
	return job, known, err
}

// setColumn stores one field of a row. column must be a column of SqueueFormat.
func (j *Job) setColumn(column, field string) (err error) {
	switch column {
	case "%A":
		j.ID, err = parseJobID(field)
	case "%i":
		err = j.setAddress(field)
	case "%K":
		if field != "N/A" {
			j.ArrayTask = field
		}
	case "%l":
		j.Limit = ParseLimit(field)
	case "%T":
		j.State = JobState(field)
	case "%N":
		j.Nodes, err = Expand(field)
	case "%S":
		j.Start, err = parseTime(field)
	case "%Q":
		if j.Priority, err = strconv.ParseUint(field, 10, 64); err != nil {
			return fmt.Errorf("priority %s: not a number", quote(field))
		}
	case "%P":
		j.Partition = field
	case "%u":
		j.User = field
	case "%a":
		if field = strings.TrimSpace(field); field != "N/A" {
			j.Account = clip(notNull(field), maxAccount)
		}
	case "%D":
		j.NodeCount = numberOr0(field)
	case "%C":
		j.CPUs = numberOr0(field)
	case "%c":
		j.NodeCPUs = numberOr0(field)
	case "%m":
		j.Memory = field
	case "%Y":
		j.Planned, err = Expand(notNull(field))
	case "%n":
		j.Needs = namesIn(field)
	case "%x":
		j.Excludes = namesIn(field)
	case "%v":
		j.Reservation = notNull(field)
	case "%f":
		j.Features = notNull(field)
	case "%b":
		if field != "N/A" {
			j.Gres = notNull(field)
		}
	case "%r":
		j.Reason = field
	}
	return err
}

// namesIn returns the nodes of a hostlist that an owner wrote; of a malformed one, a name that no node has.
func namesIn(field string) []string {
	names, err := Expand(notNull(field))
	if err != nil {
		return []string{field}
	}
	return names
}

// maxAccount is the longest account name in bytes. Source: slurmdbd's tables, which store it as a
// tinytext.
const maxAccount = 255

// numberOr0 parses a number of at most 31 bits. It returns 0 for any other text.
func numberOr0(field string) int {
	n, err := strconv.ParseUint(field, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// GPUs returns the number per node that the job requests with --gres or --gpus-per-node; 0 for none, or
// if squeue does not show a number.
func (j Job) GPUs() (sum int) {
	for _, g := range ParseGres(j.Gres) {
		switch g.Name {
		case "":
			return 0
		case "gpu":
			sum += g.Count
		}
	}
	return sum
}

// setAddress stores the job address that squeue shows: "7"; "5_2" for an array task; "5_[3-9%2]",
// possibly truncated, for tasks that still share one record; "7+1" for a component of a
// heterogeneous job.
func (j *Job) setAddress(field string) (err error) {
	if first, offset, isComponent := strings.Cut(field, "+"); isComponent {
		if j.HetID, err = parseJobID(first); err != nil {
			return err
		}
		place, err := strconv.ParseUint(offset, 10, 32)
		if err != nil {
			return fmt.Errorf("component %s: not a number after the +", quote(field))
		}
		j.ArrayID, j.HetOffset = j.ID, uint32(place)
		return nil
	}
	array, _, _ := strings.Cut(field, "_")
	j.ArrayID, err = parseJobID(array)
	return err
}

// parseJobID parses a raw job id, 1 and up, as Slurm prints it.
func parseJobID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || text[0] == '0' {
		return 0, fmt.Errorf("job id %s: not a number from 1 up", quote(text))
	}
	return uint32(id), nil
}
