package memory

import (
	"context"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// reader reads the records of jobs.
type reader interface {
	JobRecords(ctx context.Context, jobs []uint32) ([]slurm.JobRecord, error)
}

// ReadRecords reads and remembers the records of jobs. It omits jobs that no longer exist.
func (m *Memory) ReadRecords(ctx context.Context, from reader, now time.Time, ids ...uint32) ([]slurm.JobRecord, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	records, err := from.JobRecords(ctx, ids)
	for _, rec := range records {
		m.noteRecord(rec, now)
	}
	return records, err
}

// noteRecord remembers a record, except for an AdminComment that is already known. After a standby,
// the AdminComment may be of the other process.
func (m *Memory) noteRecord(rec slurm.JobRecord, now time.Time) {
	_, _, told := m.Told.Get(rec.ID)
	_, _, read := m.Records.Get(rec.ID)
	if !told || !read && memo.MayWrite(rec.AdminComment) {
		m.Told.Note(rec.ID, rec.AdminComment, now)
	}
	m.Records.Note(rec.ID, rec, now)
}

// addRecords adds the known records to a snapshot, and forgets jobs and arrays that have left the
// queue.
func (m *Memory) addRecords(snap *scene.Snapshot) {
	queued, arrays := make(map[uint32]bool, len(snap.Jobs)), map[uint32]bool{}
	for _, j := range snap.Jobs {
		queued[j.ID], arrays[j.Array()] = true, true
	}
	m.Told.keepOnly(queued)
	m.Records.keepOnly(queued)
	m.Throttles.keepOnly(arrays)

	snap.Told, snap.Records = m.Told.All(), m.Records.All()
}
