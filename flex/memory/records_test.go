package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// At a failover of slurmctld, scontrol waits for the other controller.
func TestMessageThatArrivesDuringStandbyIsReadAgain(t *testing.T) {
	var m Memory
	m.noteRecord(slurm.JobRecord{ID: 812}, noon)
	m.StandBy()
	m.Told.Replace(812, "flex-start: waiting")
	m.noteRecord(slurm.JobRecord{ID: 812, AdminComment: "flex-start: of the other host"}, noon)
	snap := scene.Snapshot{Slurm: scene.Slurm{Jobs: []slurm.Job{{ID: 812}}}}
	m.addRecords(&snap)
	assert.Equal(t, map[uint32]string{812: "flex-start: of the other host"}, snap.Told)
}
