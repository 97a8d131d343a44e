package fakeslurm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"slurmflex/slurm"
)

// split separates the next task from an array so that it can start. The task gets its own job
// ID; the last task keeps the array's ID.
func (c *Cluster) split(j *job) *job {
	if len(j.tasks) < 2 {
		return j
	}
	task := *j
	c.lastID++
	task.id, task.tasks = c.lastID, j.tasks[:1:1]
	j.tasks = j.tasks[1:]
	c.add(&task)
	return &task
}

// task separates a pending task from its array and returns it. Without such a task, it returns nil.
func (c *Cluster) task(array uint32, text string) *job {
	number, err := strconv.Atoi(text)
	for _, j := range c.queue {
		at := slices.Index(j.tasks, number)
		if err != nil || j.arrayID != array || at < 0 {
			continue
		}
		j.tasks = slices.Concat([]int{number}, j.tasks[:at], j.tasks[at+1:])
		return c.split(j)
	}
	return nil
}

// TaskID returns the ID of the record that has the array's task; 0 if none is in the queue.
func (c *Cluster) TaskID(array uint32, task string) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.queue {
		if number, err := strconv.Atoi(task); err == nil && j.arrayID == array && slices.Contains(j.tasks, number) {
			return j.id
		}
	}
	return 0
}

// together reports whether the job stands for several array tasks that are not yet separate
// jobs.
func (j *job) together() bool { return len(j.tasks) > 1 }

// shownWith returns the pending array with the squeue row that includes this pending task, or
// nil if the job has its own row. Without -r, squeue merges an array's pending tasks into one
// row.
func (c *Cluster) shownWith(j *job) *job {
	if j.arrayID == 0 || j.together() || j.state != slurm.JobPending || j.unconfirmed > 0 {
		return nil
	}
	for _, other := range c.queue {
		if other.arrayID == j.arrayID && other.together() && other.state == slurm.JobPending {
			return other
		}
	}
	return nil
}

// inRow returns the jobs that share one squeue row.
func (c *Cluster) inRow(j *job) []*job {
	list := []*job{j}
	if !j.together() || j.state != slurm.JobPending {
		return list
	}
	for _, other := range c.queue {
		if other != j && other.arrayID == j.arrayID && c.shownWith(other) == j {
			list = append(list, other)
		}
	}
	return list
}

// taskText formats the array tasks of a squeue row. A row that includes tasks with records of their
// own does not show the throttle.
func (c *Cluster) taskText(j *job) string {
	var tasks []int
	row := c.inRow(j)
	for _, other := range row {
		tasks = append(tasks, other.tasks...)
	}
	slices.Sort(tasks)
	var runs []string
	for i := 0; i < len(tasks); {
		first := tasks[i]
		last := first
		for i++; i < len(tasks) && tasks[i] == last+1; i++ {
			last = tasks[i]
		}
		if first == last {
			runs = append(runs, strconv.Itoa(first))
			continue
		}
		runs = append(runs, fmt.Sprintf("%d-%d", first, last))
	}
	text := strings.Join(runs, ",")
	if j.spec.Throttle > 0 && j.together() && len(row) == 1 {
		text += fmt.Sprintf("%%%d", j.spec.Throttle)
	}
	return text
}

// roomInArray returns how many more tasks of the job's array may have nodes.
func (c *Cluster) roomInArray(j *job) int {
	if j.spec.Throttle == 0 {
		return math.MaxInt
	}
	room := j.spec.Throttle
	for _, other := range c.queue {
		if other.arrayID == j.arrayID && other.state != slurm.JobPending && !other.over() {
			room--
		}
	}
	return room
}

// reasonShown joins the distinct reasons of a squeue row.
func (c *Cluster) reasonShown(j *job) string {
	var reasons []string
	for _, other := range c.inRow(j) {
		if !slices.Contains(reasons, other.reason) {
			reasons = append(reasons, other.reason)
		}
	}
	return strings.Join(reasons, ",")
}
