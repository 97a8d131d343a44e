package slurm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// resumeFile holds the fields that are read from the file SLURM_RESUME_FILE of a ResumeProgram.
// 22.05 has all_nodes; 23.02 and later have all_nodes_resume.
type resumeFile struct {
	AllNodes       *string           `json:"all_nodes"`
	AllNodesResume *string           `json:"all_nodes_resume"`
	Jobs           []json.RawMessage `json:"jobs"`
}

// ResumedJobs returns the raw job ids in the resume file of Slurm 22.05 to 26.05. A file for
// manually powered-up nodes lists no jobs. Unknown fields and null are skipped, and nodes are not
// expanded. A file that is empty, truncated, or lists no nodes to resume is an error. A job without
// an id is also an error, which is returned together with the ids of the other jobs.
func ResumedJobs(b []byte) ([]uint32, error) {
	if len(b) == 0 {
		return nil, errors.New("resume file: empty")
	}
	var file resumeFile
	err := json.Unmarshal(b, &file)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("resume file: %s is of type %s", cmp.Or(wrong.Field, "the whole"), wrong.Value)
	case err != nil:
		return nil, fmt.Errorf("resume file: %w", err)
	case file.AllNodes == nil && file.AllNodesResume == nil:
		return nil, errors.New("resume file: neither all_nodes_resume nor all_nodes")
	}
	var ids []uint32
	for i, text := range file.Jobs {
		var job struct {
			ID uint32 `json:"job_id"`
		}
		if json.Unmarshal(text, &job) != nil || job.ID == 0 {
			err = cmp.Or(err, fmt.Errorf("resume file: job %d of %d lacks a job_id", i+1, len(file.Jobs)))
			continue
		}
		ids = append(ids, job.ID)
	}
	return ids, err
}
