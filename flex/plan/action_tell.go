package plan

import (
	"fmt"
)

// TellJob writes a job's AdminComment, which its owner sees in scontrol show job
// and in squeue -O admin_comment.
type TellJob struct {
	Job  uint32
	Text string
	Why
}

func (a TellJob) String() string { return fmt.Sprintf("tell job %d %q", a.Job, a.Text) }

// Queue is the job's own.
func (a TellJob) Queue() string { return jobQueue(a.Job) }

func jobQueue(id uint32) string { return fmt.Sprintf("job/%d", id) }
