package memory

import (
	"context"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Owners remembers the records of jobs and the last message to each owner. After a restart or a
// standby, it reads the records again.
type Owners struct {
	mu    sync.Mutex
	known map[uint32]Owner
	begun bool // the records of all jobs on flex nodes have been read once
}

// forget makes the next pass read the records again. It keeps what only this process may know: that
// a job was warned although another program has written its AdminComment.
func (o *Owners) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	warned := map[uint32]Owner{}
	for id, known := range o.known {
		if _, is := memo.BeforeSignal(known.Told); is {
			warned[id] = Owner{Told: known.Told}
		}
	}
	o.known, o.begun = warned, false
}

// Owner is what is known about a job and its owner.
type Owner struct {
	Told     string    // AdminComment
	Read     bool      // the other fields are known
	At       time.Time // when they were last read
	requeues bool      // Slurm requeues the job when it loses its nodes
	limits   scene.JobLimits
	reach    scene.Reach
}

// keep forgets the jobs that have left the queue, and adds the known records of the others to a
// snapshot.
func (o *Owners) keep(snap *scene.Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queued := make(map[uint32]bool, len(snap.Jobs))
	for _, j := range snap.Jobs {
		queued[j.ID] = true
	}
	maps.DeleteFunc(o.known, func(id uint32, _ Owner) bool { return !queued[id] })
	snap.Told, snap.Requeues = make(map[uint32]string, len(o.known)), make(map[uint32]bool, len(o.known))
	snap.Limits, snap.Reach = make(map[uint32]scene.JobLimits), make(map[uint32]scene.Reach)
	for id, known := range o.known {
		snap.Told[id] = known.Told
		if known.Read {
			snap.Requeues[id] = known.requeues
		}
		if known.limits != (scene.JobLimits{}) {
			snap.Limits[id] = known.limits
		}
		if known.reach != "" {
			snap.Reach[id] = known.reach
		}
	}
}

// Note stores a record, except for an AdminComment that is already known.
func (o *Owners) Note(rec slurm.JobRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[uint32]Owner{}
	}
	known, remembered := o.known[rec.ID]
	if !remembered || !known.Read && memo.MayWrite(rec.AdminComment) {
		known.Told = rec.AdminComment
	}
	limits := scene.JobLimits{Deadline: rec.Deadline, MinTime: rec.MinTime}
	limits.Wait, limits.Then = memo.OwnersWait(rec.Comment)
	o.known[rec.ID] = Owner{known.Told, true, time.Now(), rec.Requeues(), limits, scene.ReachOf(rec)}
}

// NoteTold stores the AdminComment of a known job, regardless of its author. The message of an
// action that outlives a standby is read with the job's record.
func (o *Owners) NoteTold(job uint32, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.known[job]; ok {
		known.Told = text
		o.known[job] = known
	}
}

// Begun reports whether this process has read the records of all jobs that it found on flex nodes.
func (o *Owners) Begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begun
}

// Begin notes whether this process has read these records, or must read those that are missing.
func (o *Owners) Begin(read bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun = read
}

// Last returns the known record of a job.
func (o *Owners) Last(job uint32) Owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[job]
}

// Limits returns the known limits that a job's owner has set.
func (o *Owners) Limits(job uint32) scene.JobLimits { return o.Last(job).limits }

// Records reads the records of jobs.
type Records interface {
	JobRecords(ctx context.Context, jobs []uint32) ([]slurm.JobRecord, error)
}

// Read reads and remembers the records of jobs. It omits jobs that no longer exist.
func (o *Owners) Read(ctx context.Context, from Records, ids ...uint32) ([]slurm.JobRecord, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	records, err := from.JobRecords(ctx, ids)
	for _, rec := range records {
		o.Note(rec)
	}
	return records, err
}
