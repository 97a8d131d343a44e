package flex

import (
	"errors"
	"fmt"

	"slurmflex/config"
	"slurmflex/config/regular"
	"slurmflex/slurm"
)

// Calls is the nodes of one call by Slurm, by whom they concern.
type Calls struct {
	Ours    []string // of nodesets with dws_flex
	Others  []string // of nodesets that the configuration knows without it
	Unknown []string // of no nodeset
}

// Sort divides the nodes of a call by who creates their machines.
func Sort(cfg *config.Config, names []string) Calls {
	var c Calls
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

// resumeFileSize is the size in bytes of the largest file of resumed jobs that is
// read: that of 1,000 jobs on 5,000 nodes is below 1 MiB.
const resumeFileSize = 32 << 20

// ResumedJobs returns the ids of the jobs that the file speaks of that
// SLURM_RESUME_FILE names. Those that could be read come also with an error.
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
