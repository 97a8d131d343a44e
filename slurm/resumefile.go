package slurm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// ResumeFile is what SLURM_RESUME_FILE tells a ResumeProgram. Slurm guarantees
// the file only while the program runs.
type ResumeFile struct {
	Nodes []string    // to resume by this call
	Jobs  []ResumeJob // none when somebody powered the nodes up by hand
}

// ResumeJob is a job that waits for nodes.
type ResumeJob struct {
	ID        uint32 // the raw job id
	Partition string // "" before 23.02
	// Nodes are those of the job that this call resumes; with ResumeRate set,
	// or with one call per power action, not all of the job's.
	Nodes     []string
	Allocated []string // all nodes of the job; empty where Slurm does not say
}

// resumeFileJSON is the file of every version: 22.05 has all_nodes and nodes,
// 23.02 and later have all_nodes_resume and nodes_resume.
type resumeFileJSON struct {
	AllNodes       *string `json:"all_nodes"`
	AllNodesResume *string `json:"all_nodes_resume"`
	Jobs           []struct {
		ID          uint32 `json:"job_id"`
		Partition   string `json:"partition"`
		Nodes       string `json:"nodes"`
		NodesResume string `json:"nodes_resume"`
		NodesAlloc  string `json:"nodes_alloc"`
	} `json:"jobs"`
}

// read decodes the file, whatever its nodes are.
func (raw *resumeFileJSON) read(b []byte) error {
	if len(b) == 0 {
		return errors.New("resume file: empty")
	}
	err := json.Unmarshal(b, raw)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("resume file: %s is of type %s", cmp.Or(wrong.Field, "the whole"), wrong.Value)
	case err != nil:
		return fmt.Errorf("resume file: %w", err)
	}
	if raw.AllNodesResume == nil {
		raw.AllNodesResume = raw.AllNodes
	}
	if raw.AllNodesResume == nil {
		return errors.New("resume file: neither all_nodes_resume nor all_nodes")
	}
	for i, job := range raw.Jobs {
		if job.ID == 0 {
			return fmt.Errorf("resume file: job %d of %d has no job_id", i+1, len(raw.Jobs))
		}
	}
	return nil
}

// ResumedJobs reads of such a file only the raw ids of its jobs, and does not
// expand their nodes: none when somebody powered the nodes up by hand.
func ResumedJobs(b []byte) ([]uint32, error) {
	var raw resumeFileJSON
	if err := raw.read(b); err != nil {
		return nil, err
	}
	var ids []uint32
	for _, job := range raw.Jobs {
		ids = append(ids, job.ID)
	}
	return ids, nil
}

// ParseResumeFile reads the file of Slurm 22.05 to 26.05. Fields it does not
// know, and null, are passed over; a file that is empty, cut off, or does not
// say which nodes to resume is an error.
func ParseResumeFile(b []byte) (ResumeFile, error) {
	var raw resumeFileJSON
	err := raw.read(b)
	if err != nil {
		return ResumeFile{}, err
	}
	var file ResumeFile
	if file.Nodes, err = Expand(*raw.AllNodesResume); err != nil {
		return ResumeFile{}, fmt.Errorf("resume file: nodes: %w", err)
	}
	if len(file.Nodes) == 0 {
		return ResumeFile{}, errors.New("resume file: no nodes to resume")
	}
	resumed := make(map[string]bool, len(file.Nodes))
	for _, name := range file.Nodes {
		resumed[name] = true
	}

	for _, rawJob := range raw.Jobs {
		job := ResumeJob{ID: rawJob.ID, Partition: rawJob.Partition}
		nodes, err := Expand(cmp.Or(rawJob.NodesResume, rawJob.Nodes))
		if err != nil {
			return ResumeFile{}, fmt.Errorf("resume file: job %d: nodes: %w", job.ID, err)
		}
		if job.Allocated, err = Expand(rawJob.NodesAlloc); err != nil {
			return ResumeFile{}, fmt.Errorf("resume file: job %d: allocated nodes: %w", job.ID, err)
		}
		for _, name := range nodes {
			if resumed[name] {
				job.Nodes = append(job.Nodes, name)
			}
		}
		file.Jobs = append(file.Jobs, job)
	}
	return file, nil
}
