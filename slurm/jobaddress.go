package slurm

import (
	"fmt"
	"regexp"
	"strings"
)

// JobAddressFormat is the -o argument of squeue for ParseJobAddress. It has no
// text that the job's owner chooses.
const JobAddressFormat = "%A|%i"

// jobAddress is %i: "7", "5_2" for a task of an array, "5_[3-9%2]" for tasks
// that are still one record, "7+1" for a component of a heterogeneous job.
var jobAddress = regexp.MustCompile(`^(\d+(?:_\d+)?)(?:\+\d+)?$`)

// lastTask is %i of the last task of an array that Slurm has not told apart.
var lastTask = regexp.MustCompile(`^(\d+)_\[(\d+)(?:%\d+)?\]$`)

// JobAddress is how Slurm's commands are told to change one job and no other.
// Given an array's id they change all its tasks, and one task has that id for
// its own: its address is "5_2". The components of a heterogeneous job, "7+0"
// and "7+1", have some things of their own, such as the AdminComment; they are
// held, requeued and cancelled only as a whole, by their leader's id.
type JobAddress struct {
	Own   string // of this job or component: "7", "5_2", "7+1"
	Whole string // of what starts and ends as one: for "7+1" it is "7", for any other job the same as Own
}

// ParseJobAddress finds, in what squeue -h -o with JobAddressFormat printed,
// the address of the job with this raw id. It is the zero JobAddress when the
// job is not there, and an error when the id is that of an array's tasks which
// are still one record.
//
// Rows of other jobs may be anything. A row that is there and cannot be read is
// an error, unless the job's own was found: the job may be there all the same.
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
			return JobAddress{}, fmt.Errorf("squeue: job %d stands for tasks that have not been told apart yet", id)
		default:
			unread = fmt.Errorf("squeue: %s: not a job id and an address", quote(line))
		}
	}
	if address == (JobAddress{}) {
		return JobAddress{}, unread
	}
	return address, nil
}
