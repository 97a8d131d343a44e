package fakeslurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// split takes the next task out of an array that is to start. It gets an id of
// its own, but for the last one, which keeps that of the array.
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

// task returns a task of an array as a job of its own; nil: the array has no such pending task.
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

// together reports whether the job stands for tasks that have not been told
// apart yet.
func (j *job) together() bool { return len(j.tasks) > 1 }

// taskText formats the array tasks of a job.
func (j *job) taskText() string {
	tasks := slices.Sorted(slices.Values(j.tasks))
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
	return strings.Join(runs, ",")
}
