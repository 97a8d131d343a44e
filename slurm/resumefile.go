package slurm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// resumeFile is what SLURM_RESUME_FILE gives a ResumeProgram, as far as it is
// read. 22.05 has all_nodes, 23.02 and later have all_nodes_resume.
type resumeFile struct {
	AllNodes       *string           `json:"all_nodes"`
	AllNodesResume *string           `json:"all_nodes_resume"`
	Jobs           []json.RawMessage `json:"jobs"`
}

// ResumedJobs reads of the file of Slurm 22.05 to 26.05 the raw ids of its jobs:
// none when somebody powered the nodes up by hand. Fields it does not know, and
// null, are passed over, and nodes are not expanded; a file that is empty, cut
// off, or says of no nodes that they are to be resumed is an error. So is a job
// without an id, which comes with the ids of the others.
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
			err = cmp.Or(err, fmt.Errorf("resume file: job %d of %d has no job_id", i+1, len(file.Jobs)))
			continue
		}
		ids = append(ids, job.ID)
	}
	return ids, err
}
