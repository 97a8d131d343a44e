package wake

import (
	"errors"
	"fmt"

	"slurmflex/config"
	"slurmflex/config/regular"
	"slurmflex/slurm"
)

// Nodes holds the nodes of one call by Slurm, grouped by the program that serves them.
type Nodes struct {
	Ours    []string // in nodesets with dws_flex
	Others  []string // in configured nodesets without dws_flex
	Unknown []string // outside all configured nodesets
}

// Sort groups the nodes of a call by the program that creates their machines.
func Sort(cfg *config.Config, names []string) Nodes {
	var c Nodes
	for _, name := range names {
		switch set, _, ok := cfg.Find(name); {
		case !ok:
			c.Unknown = append(c.Unknown, name)
		case set.Flex != nil:
			c.Ours = append(c.Ours, name)
		default:
			c.Others = append(c.Others, name)
		}
	}
	return c
}

// resumeFileSize is the largest accepted size of a file of resumed jobs, in bytes. A file for 1,000
// jobs on 5,000 nodes is below 1 MiB.
const resumeFileSize = 32 << 20

// ResumedJobs returns the ids of the jobs in the file that SLURM_RESUME_FILE names. With an error,
// it still returns the ids that it could read.
func ResumedJobs(path string) ([]uint32, error) {
	if path == "" {
		return nil, errors.New("SLURM_RESUME_FILE is not set: called by hand, or by a Slurm that was built without JSON")
	}
	data, err := regular.Read(path, resumeFileSize)
	if err != nil {
		return nil, fmt.Errorf("SLURM_RESUME_FILE: %w", err)
	}
	ids, err := slurm.ResumedJobs(data)
	if err != nil {
		return ids, fmt.Errorf("SLURM_RESUME_FILE %s: %w", path, err)
	}
	return ids, nil
}
