package slurm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JobState is Slurm's word for a job's state.
type JobState string

// The words of Slurm 22.05 to 26.05: base states first, then those that Slurm
// shows in their place for a while.
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

	JobLaunchFailed JobState = "LAUNCH_FAILED"
	JobRequeued     JobState = "REQUEUED"
	JobRequeueHold  JobState = "REQUEUE_HOLD"
	JobSpecialExit  JobState = "SPECIAL_EXIT"
	JobResizing     JobState = "RESIZING"
	JobConfiguring  JobState = "CONFIGURING"
	JobCompleting   JobState = "COMPLETING"
	JobStopped      JobState = "STOPPED"
	JobReconfigFail JobState = "RECONFIG_FAIL"
	JobPowerUpNode  JobState = "POWER_UP_NODE"
	JobRevoked      JobState = "REVOKED"
	JobRequeueFed   JobState = "REQUEUE_FED"
	JobResvDelHold  JobState = "RESV_DEL_HOLD"
	JobSignaling    JobState = "SIGNALING"
	JobStageOut     JobState = "STAGE_OUT"
	JobExpediting   JobState = "EXPEDITING"
)

var jobStates = []JobState{
	JobPending, JobRunning, JobSuspended, JobCompleted, JobCancelled, JobFailed, JobTimeout, JobNodeFail, JobPreempted,
	JobBootFail, JobDeadline, JobOutOfMemory, JobLaunchFailed, JobRequeued, JobRequeueHold, JobSpecialExit, JobResizing,
	JobConfiguring, JobCompleting, JobStopped, JobReconfigFail, JobPowerUpNode, JobRevoked, JobRequeueFed, JobResvDelHold,
	JobSignaling, JobStageOut, JobExpediting,
}

// Waits reports whether a job in that state waits in the queue. One with
// --requeue=expedite (25.11) shows EXPEDITING, and has no nodes, from when it has
// lost them until it is started again, also while it is held.
func (s JobState) Waits() bool { return s == JobPending || s == JobExpediting }

// AtWork reports whether a job in that state has had all its nodes come up.
func (s JobState) AtWork() bool {
	return s.HoldsNodes() && s != JobConfiguring && s != JobPowerUpNode
}

// HoldsNodes reports whether a job in that state has its nodes still: any state
// but those in which Slurm has taken them back, so that a state that we do not
// know does.
func (s JobState) HoldsNodes() bool {
	switch s {
	case JobPending, JobExpediting, JobCompleted, JobCancelled, JobFailed, JobTimeout, JobNodeFail, JobPreempted, JobBootFail,
		JobDeadline, JobOutOfMemory, JobRequeued, JobRequeueHold, JobSpecialExit, JobRevoked:
		return false
	}
	return true
}

// Job is one row of squeue.
type Job struct {
	// ID is the raw job id, the one in a resume file. ArrayID is the array's,
	// and for a job that is no array task the same as ID.
	ID, ArrayID uint32
	ArrayTask   string // a task's index, or a set such as "3-9%2"; "" for no array

	// HetID is the id of the heterogeneous job's first component, 0 if the job is
	// not a component. HetOffset is its place among them, from 0.
	HetID, HetOffset uint32

	Limit Limit
	State JobState
	Nodes []string // allocated

	// Start is when the job was allocated its nodes, and once they are up, when
	// it began to run; for a pending job when it may start. Zero if unknown.
	Start time.Time

	NodeCount int // how many it has, or while it is pending needs at least; 0 if unknown

	// GPUs is how many on each node it asks for by --gres or --gpus-per-node: 0
	// for none, or what squeue does not show as a number.
	GPUs int

	Priority    uint64
	Needs       string // the hostlist of nodes that it asks for; "" for none
	Excludes    string // the hostlist of nodes that it excludes; "" for none
	Reservation string // that it asks for; "" for none
	Reason      string // why it is pending
	User        string
	Partition   string // several, joined by commas, while it may choose
}

// BeginTime is the reason of a job that may not start before its start: its owner wants it
// so, or Slurm has requeued it. Source: squeue(1), JOB REASON CODES.
const BeginTime = "BeginTime"

// LacksNodes reports whether a job that is pending for this reason would start if there
// were free nodes, as far as Slurm says. Source: what slurmctld shows in test/e2e.
func LacksNodes(reason string) bool {
	word, _, _ := strings.Cut(reason, ",")
	return slices.Contains([]string{"Priority", "Resources", "ReqNodeNotAvail"}, word) || strings.HasPrefix(word, "Nodes required")
}

// MayBeLimited reports whether a limit of an account, QOS or license may keep a job pending that shows
// this reason: Slurm names the limit, or no reason. Source: what slurmctld shows in test/e2e.
func MayBeLimited(reason string) bool {
	return slices.Contains([]string{"", "None", "Licenses"}, reason) || strings.HasPrefix(reason, "Assoc") || strings.HasPrefix(reason, "QOS")
}

// Pinned reports whether the job asks for certain nodes, or excludes some.
func (j Job) Pinned() bool { return j.Needs != "" || j.Excludes != "" }

// Tasks returns the indexes of the tasks of an array that the row stands for, the lowest first. squeue
// cuts a long list short.
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

// Throttle returns how many tasks of the array may run at once; 0: any number.
func (j Job) Throttle() int {
	_, most, _ := strings.Cut(j.ArrayTask, "%")
	return numberOr0(strings.TrimSuffix(most, "]"))
}

// Address is how scontrol calls the job: "7", or "5_2" for a task of an array. It is empty for tasks
// that are still one record.
func (j Job) Address() string {
	switch {
	case j.IsTasks():
		return ""
	case j.ArrayTask != "":
		task, _, _ := strings.Cut(j.ArrayTask, "%")
		return fmt.Sprintf("%d_%s", j.ArrayID, task)
	case j.HetID != 0:
		return strconv.FormatUint(uint64(j.HetID), 10)
	}
	return strconv.FormatUint(uint64(j.ID), 10)
}

// IsTasks reports whether the row stands for several tasks of an array that are still one record.
func (j Job) IsTasks() bool { return strings.ContainsAny(j.ArrayTask, "-,:.") }

var squeueColumns = strings.Split("%A|%i|%K|%l|%T|%N|%S|%Q|%P|%u|%D|%n|%x|%v|%b|%r", "|")

// freeColumns hold text that the job's owner may write: requested and excluded nodes, GPUs, and
// the reason, because a burst buffer's script can repeat the owner's text there.
var freeColumns = []string{"%n", "%x", "%b", "%r"}

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

// ParseSqueue reads what squeue -h with SqueueFormat(mark) printed under TZ=UTC.
// The last column is the rest of the line, whatever is in it. No output is no job.
// Rows that cannot be read are Unread, an error that comes with the jobs. Output
// in which no line begins with a job's id or has all columns is another error.
func ParseSqueue(out []byte, mark string) ([]Job, error) {
	return readRows("squeue", flatten(string(out), mark), func(line string) bool {
		id, _, more := strings.Cut(line, "|")
		_, err := parseJobID(id)
		return more && err == nil || strings.Count(line, "|") >= len(squeueColumns)-1
	}, parseJob)
}

// parseJob reads one row. What is known of one that cannot be read is what stands
// before the first field that is wrong.
func parseJob(line string) (job Job, known UnreadRow, err error) {
	known = UnreadRow{Kind: JobRow}
	fields := strings.SplitN(line, "|", len(squeueColumns))
	whole := len(fields) == len(squeueColumns)
	if !whole {
		err = fmt.Errorf("%d fields, not %d", len(fields), len(squeueColumns))
		fields = fields[:len(fields)-1] // the last one may be cut off
	}
	for i, field := range fields {
		if wrong := job.setColumn(squeueColumns[i], field); wrong != nil {
			return Job{}, known, wrong
		}
		switch squeueColumns[i] {
		case "%A":
			known.Name = field
		case "%T":
			if slices.Contains(jobStates, job.State) {
				known.State = job.State
			}
		case "%N":
			// Unless a bar in a field before has put all others elsewhere.
			if known.NodesKnown = known.State != ""; known.NodesKnown {
				known.Nodes = job.Nodes
			}
		}
	}
	return job, known, err
}

// setColumn takes over one field of a row. Its column is one of SqueueFormat's.
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
	case "%D":
		j.NodeCount = numberOr0(field)
	case "%n":
		j.Needs = notNull(field)
	case "%x":
		j.Excludes = notNull(field)
	case "%v":
		j.Reservation = notNull(field)
	case "%b":
		j.GPUs = gpusPerNode(field)
	case "%r":
		j.Reason = field
	}
	return err
}

// numberOr0 is a number of at most 31 bits, and 0 for anything else.
func numberOr0(field string) int {
	n, err := strconv.ParseUint(field, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// gresForm is GPUs as %b shows them: gres:gpu:h100:8 on 22.05, gres/gpu:8 on 24.11
// and 26.05, and without a number where it is 1. What stands for the type may be
// any text, and slurmctld starts no job that asks for a type that no node has.
var gresForm = regexp.MustCompile(`^gres[:/]gpu(?:(?::.*)?:(\d{1,2}))?$`)

// gpusPerNode is how many GPUs on each node %b asks for: 0 for none, or if they are
// not like gresForm.
func gpusPerNode(text string) (sum int) {
	for item := range strings.SplitSeq(text, ",") {
		m := gresForm.FindStringSubmatch(item)
		switch {
		case m != nil && m[1] == "":
			sum++
		case m != nil:
			sum += numberOr0(m[1])
		case strings.Contains(item, "gpu"):
			return 0
		}
	}
	return sum
}

// setAddress takes over what squeue shows for the job: "7", "5_2" for a task of
// an array, "5_[3-9%2]", of any length cut short, for tasks that are still one
// record, "7+1" for a component of a heterogeneous job.
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

// parseJobID reads a raw job id, 1 and up, as Slurm writes it.
func parseJobID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || text[0] == '0' {
		return 0, fmt.Errorf("job id %s: not a number from 1 up", quote(text))
	}
	return uint32(id), nil
}
