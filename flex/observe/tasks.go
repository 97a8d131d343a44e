package observe

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slurmflex/slurm"
)

// taskReason is the form of a reason that squeue appends to an array's row.
var taskReason = regexp.MustCompile(`^[A-Z][A-Za-z]*$`)

// hidesTasks reports whether the row stands for array tasks of which some lack only nodes and others
// wait for something else, or have a plan of their own. Without -r, squeue adds pending tasks with
// records of their own to the array's row and appends their reasons, unless the row has them, but shows
// the plan and the priority of the rest alone (tried on 22.05 and 26.05). A task that waits for its
// reservation does not count. Source: _combine_pending_array_tasks in Slurm's squeue.
func hidesTasks(j slurm.Job) bool {
	if !j.IsTasks() || !j.State.Waits() {
		return false
	}
	var lacks, others bool
	for i, word := range strings.Split(j.Reason, ",") {
		isNodes := slurm.LacksNodes(word)
		lacks = lacks || isNodes
		if i == 0 && !isNodes || i > 0 && taskReason.MatchString(word) && word != "Reservation" && word != "None" {
			others = true
		}
	}
	return lacks && others
}

// tasksWithout returns the ArrayTask of the row without some of its tasks; "" if none is left.
func tasksWithout(j slurm.Job, some []int) string {
	text, throttle, isThrottled := strings.Cut(strings.Trim(j.ArrayTask, "[]"), "%")
	gone := make(map[int]bool, len(some))
	for _, task := range some {
		gone[task] = true
	}
	runs := runsOf(slices.DeleteFunc(j.Tasks(), func(task int) bool { return gone[task] }))
	if strings.HasSuffix(text, "...") {
		runs = append(runs, "...")
	}
	if text = strings.Join(runs, ","); isThrottled && text != "" {
		text += "%" + throttle
	}
	return text
}

// runsOf writes ascending indexes as squeue does: 0-3 and 5.
func runsOf(tasks []int) (runs []string) {
	for len(tasks) > 0 {
		n := 1
		for n < len(tasks) && tasks[n] == tasks[0]+n {
			n++
		}
		run := strconv.Itoa(tasks[0])
		if n > 1 {
			run += "-" + strconv.Itoa(tasks[n-1])
		}
		runs, tasks = append(runs, run), tasks[n:]
	}
	return runs
}
