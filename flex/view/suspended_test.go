package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

// Slurm starts other jobs on the shared nodes of a suspended job.
func TestAJobBesideASuspendedOneIsNotShownAsSuspended(t *testing.T) {
	s := newWorld()
	s.up(812, "alpha-a3-2", slurm.JobSuspended, 5*time.Hour)
	assert.Equal(t, "suspended (scontrol suspend), while its machines are billed", s.view().Rows[0].Obstacle)
	s.job(813, "train", "alpha-a3-2", slurm.JobRunning)
	assert.Equal(t, "job 812 is suspended (scontrol suspend)", s.view().Rows[0].Obstacle)
}
