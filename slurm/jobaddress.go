package slurm

import (
	"fmt"
	"regexp"
	"strings"
)

// JobAddressFormat is the -o argument of squeue -r for ParseJobAddress. It contains no text that the
// job's owner chooses.
const JobAddressFormat = "%A|%i"

// jobAddress matches %i of a job or component: "7", "5_2" for an array task, "7+1" for a component
// of a heterogeneous job.
var jobAddress = regexp.MustCompile(`^[1-9]\d*(?:[_+]\d+)?$`)

// IsJobAddress reports whether a text has the form of a job's address; see ParseJobAddress.
func IsJobAddress(text string) bool { return jobAddress.MatchString(text) }

// lastTask matches %i of an array's last task before Slurm creates a separate record for it.
var lastTask = regexp.MustCompile(`^(\d+)_\[(\d+)(?:%\d+)?\]$`)

// ParseJobAddress finds the address of the job with this raw id in the output of squeue -h -r -o with
// JobAddressFormat: "7", "5_2", "7+1". It returns "" if the job is missing, and an error if the id
// belongs to array tasks that still share one record.
//
// An address names exactly one job to Slurm's commands. Given an array's id, they change all its
// tasks, and one task has the array's id as its own; the address of that task is "5_2". The
// components of a heterogeneous job, "7+0" and "7+1", have separate values for some fields, such as
// AdminComment. They can be held, requeued and cancelled only together, by the leader's id.
//
// Rows of other jobs may have any content. If the job's row was not found, an unreadable row is an
// error, because it may be the row of this job.
func ParseJobAddress(id uint32, out []byte) (address string, unread error) {
	if len(out) > 0 && out[len(out)-1] != '\n' {
		return "", fmt.Errorf("squeue: %w", errCutOff)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		raw, shown, _ := strings.Cut(line, "|")
		shown = lastTask.ReplaceAllString(shown, "${1}_$2")
		switch other, err := parseJobID(raw); {
		case err == nil && other != id:
		case err == nil && IsJobAddress(shown) && address == "":
			address = shown
		case err == nil && strings.Contains(shown, "_"):
			return "", fmt.Errorf("squeue: job %d stands for array tasks without records of their own", id)
		case err == nil && IsJobAddress(shown):
			return "", fmt.Errorf("squeue: job %d is listed twice", id)
		default:
			unread = fmt.Errorf("squeue: %s: not a job id and an address", quote(line))
		}
	}
	if address != "" {
		return address, nil
	}
	return "", unread
}
