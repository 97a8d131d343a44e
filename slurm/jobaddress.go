package slurm

import (
	"fmt"
	"regexp"
	"strings"
)

// JobAddressFormat is the -o argument of squeue for ParseJobAddress. It contains no text that the
// job's owner chooses.
const JobAddressFormat = "%A|%i"

// jobAddress matches %i: "7"; "5_2" for an array task; "5_[3-9%2]" for tasks that still share one
// record; "7+1" for a component of a heterogeneous job.
var jobAddress = regexp.MustCompile(`^(\d+(?:_\d+)?)(?:\+\d+)?$`)

// lastTask matches %i of an array's last task before Slurm creates a separate record for it.
var lastTask = regexp.MustCompile(`^(\d+)_\[(\d+)(?:%\d+)?\]$`)

// JobAddress names exactly one job to Slurm's commands. Given an array's id, they change all its
// tasks, and one task has the array's id as its own; the address of that task is "5_2". The
// components of a heterogeneous job, "7+0" and "7+1", have separate values for some fields, such as
// AdminComment. They can be held, requeued and cancelled only together, by the leader's id.
type JobAddress struct {
	Own   string // of this job or component: "7", "5_2", "7+1"
	Whole string // of the whole heterogeneous job: "7" for "7+1"; for any other job, Own
}

// ParseJobAddress finds the address of the job with this raw id in the output of squeue -h -o with
// JobAddressFormat. It returns the zero JobAddress if the job is missing, and an error if the id
// belongs to array tasks that still share one record.
//
// Rows of other jobs may have any content. If the job's row was not found, an unreadable row is an
// error, because it may be the row of this job.
func ParseJobAddress(id uint32, out []byte) (JobAddress, error) {
	if len(out) > 0 && out[len(out)-1] != '\n' {
		return JobAddress{}, fmt.Errorf("squeue: %w", errCutOff)
	}
	var address JobAddress
	var unread error
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		raw, shown, _ := strings.Cut(line, "|")
		other, err := parseJobID(raw)
		parts := jobAddress.FindStringSubmatch(shown)
		switch {
		case err == nil && other != id:
		case err == nil && parts != nil && address == JobAddress{}:
			address = JobAddress{Own: shown, Whole: parts[1]}
		case err == nil && parts != nil:
			return JobAddress{}, fmt.Errorf("squeue: job %d is listed twice", id)
		case err == nil && lastTask.MatchString(shown) && address == JobAddress{}:
			own := lastTask.ReplaceAllString(shown, "${1}_$2")
			address = JobAddress{Own: own, Whole: own}
		case err == nil && strings.Contains(shown, "_["):
			return JobAddress{}, fmt.Errorf("squeue: job %d stands for array tasks without records of their own", id)
		default:
			unread = fmt.Errorf("squeue: %s: not a job id and an address", quote(line))
		}
	}
	if address == (JobAddress{}) {
		return JobAddress{}, unread
	}
	return address, nil
}
