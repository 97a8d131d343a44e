package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// JobAddressFormat is the -o argument of squeue for ParseJobAddress. It has no
// text that the job's owner chooses.
const JobAddressFormat = "%A|%i"

// jobAddress is %i: "7", "5_2" for a task of an array, "5_[3-9%2]" for tasks
// that are still one record, "7+1" for a component of a heterogeneous job.
var jobAddress = regexp.MustCompile(`^(\d+(?:_\d+)?)(?:\+\d+)?$`)

// JobAddress is how Slurm's commands are told to change one job and no other.
// Given an array's id they change all its tasks, and one task has that id for
// its own: its address is "5_2". The components of a heterogeneous job, "7+0"
// and "7+1", have some things of their own, such as the AdminComment; they are
// held, requeued and cancelled only as a whole, by their leader's id.
type JobAddress struct {
	Own   string // of this job or component: "7", "5_2", "7+1"
	Whole string // of what starts and ends as one: for "7+1" it is "7", else as Own
}

// ParseJobAddress finds, in what squeue -h -o with JobAddressFormat printed,
// the address of the job with this raw id. It is the zero JobAddress when the
// job is not there, and an error when the id is that of an array's tasks which
// are still one record.
func ParseJobAddress(id uint32, out []byte) (JobAddress, error) {
	var address JobAddress
	err := eachLine(string(out), func(line string) error {
		raw, shown, found := strings.Cut(line, "|")
		if !found {
			return errors.New("not a job id and an address")
		}
		if raw != strconv.FormatUint(uint64(id), 10) {
			return nil
		}
		parts := jobAddress.FindStringSubmatch(shown)
		switch {
		case parts != nil:
			address = JobAddress{Own: shown, Whole: parts[1]}
		case strings.Contains(shown, "_["):
			return fmt.Errorf("job %d stands for tasks that have not been told apart yet", id)
		default:
			return errors.New("not a job id and an address")
		}
		return nil
	})
	if err != nil {
		return JobAddress{}, fmt.Errorf("squeue: %w", err)
	}
	return address, nil
}
