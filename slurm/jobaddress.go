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

// ParseJobAddress finds, in what squeue -h -o with JobAddressFormat printed,
// how Slurm's commands are told to change the job with this raw id and no
// other. Given an array's id they change all its tasks, and one task has that
// id for its own: its address is "5_2". Of a heterogeneous job they change most
// things only as a whole, so the address of a component is its leader's id.
//
// The address is "" when the job is not there, and an error when the id is
// that of an array's tasks which are still one record.
func ParseJobAddress(id uint32, out []byte) (string, error) {
	address := ""
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
			address = parts[1]
		case strings.Contains(shown, "_["):
			return fmt.Errorf("job %d stands for tasks that have not been told apart yet", id)
		default:
			return errors.New("not a job id and an address")
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("squeue: %w", err)
	}
	return address, nil
}
