package slurm

import (
	"fmt"
	"regexp"
)

// throttleForm matches the first fields of an array task's record. All of them are Slurm's own: the
// texts of the job's owner start with JobName. Without a throttle, the field is missing.
var throttleForm = regexp.MustCompile(`^JobId=\d+ ArrayJobId=(\d+) ArrayTaskId=\S+ (?:ArrayTaskThrottle=(\d+) )?JobName=`)

// ParseThrottle finds in the output of scontrol -o show job, for a task of the array, how many of
// the array's tasks may run at once; 0 means no limit.
func ParseThrottle(array uint32, out []byte) (int, error) {
	fields := throttleForm.FindSubmatch(out)
	if fields == nil || string(fields[1]) != fmt.Sprint(array) {
		return 0, fmt.Errorf("scontrol show job: not a record of a task of array %d", array)
	}
	return numberOr0(string(fields[2])), nil
}
