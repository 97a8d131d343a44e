package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// JobRecord is what is asked of a job before it is told something, or loses its
// nodes.
type JobRecord struct {
	ID           uint32
	State        JobState
	Requeue      bool   // Slurm may requeue it
	Batch        bool   // from sbatch; otherwise somebody waits in salloc or srun
	AdminComment string // only operators can write it, and programs of the site that run as they do
	Comment      string // its owner's

	// Deadline is by when the job is to have ended, zero if it may end at any time. MinTime
	// is the least time limit that it takes, 0 for its own.
	Deadline time.Time
	MinTime  time.Duration
}

// Requeues reports whether Slurm puts the job back into the queue when it loses
// its nodes.
func (r JobRecord) Requeues() bool { return r.Batch && r.Requeue }

// JobRecordFormat is the -O argument of squeue for ParseJobRecords. Its fields
// are the same in Slurm 22.05 to 26.05, and none but the last two, the comments,
// holds text that somebody writes. That may have line breaks: a mark that
// nobody can foresee tells the start of a row from such a line, and one comment from
// the other.
func JobRecordFormat(mark string) string {
	return "JobID:|" + mark + "|,State:|,Requeue:|,BatchFlag:|,Deadline:|,MinTime:|,admin_comment:" + commentMark(mark) + ",comment:"
}

func commentMark(mark string) string { return "<" + mark + ">" }

// JobRecordError is a row of squeue that cannot be read.
type JobRecordError struct {
	ID  uint32
	Why string
}

// Error names the job.
func (e *JobRecordError) Error() string {
	return fmt.Sprintf("record of job %d: %s", e.ID, e.Why)
}

// ParseJobRecords reads the records of jobs, whose ids are sorted, from what
// squeue -h with JobRecordFormat(mark) printed under TZ=UTC; rows of other jobs are left out.
// A row that cannot be read costs that job's record only: the error that comes
// with the other records wraps a *JobRecordError for it.
func ParseJobRecords(out []byte, mark string, ids []uint32) (records []JobRecord, problems error) {
	var rows []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.Contains(line, "|"+mark+"|"):
			rows = append(rows, line)
		case rows != nil: // more of an AdminComment
			rows[len(rows)-1] += "\n" + line
		default:
			return nil, fmt.Errorf("squeue: %s: not a job record", quote(line))
		}
	}
	for _, row := range rows {
		number, _, _ := strings.Cut(row, "|")
		id, err := parseJobID(number)
		if err != nil {
			return nil, fmt.Errorf("squeue: %w", err)
		}
		if _, asked := slices.BinarySearch(ids, id); !asked {
			continue
		}
		record, err := parseJobRecord(id, row, mark)
		switch {
		case err == nil:
			records = append(records, record)
		case problems == nil:
			problems = &JobRecordError{ID: id, Why: err.Error()}
		default:
			problems = fmt.Errorf("%w; %w", problems, &JobRecordError{ID: id, Why: err.Error()})
		}
	}
	return records, problems
}

// parseJobRecord reads one row.
func parseJobRecord(id uint32, row, mark string) (JobRecord, error) {
	const fields = 8
	values := strings.SplitN(row, "|", fields)
	if len(values) < fields {
		return JobRecord{}, fmt.Errorf("%d fields, not %d", len(values), fields)
	}
	admin, own, whole := strings.Cut(values[7], commentMark(mark))
	if !whole {
		return JobRecord{}, errors.New("it breaks off")
	}
	deadline, err := parseTime(values[5])
	if err != nil {
		return JobRecord{}, err
	}
	return JobRecord{
		ID: id, State: JobState(values[2]),
		Requeue: values[3] == "1", Batch: values[4] == "1", AdminComment: notNull(admin), Comment: notNull(own),
		Deadline: deadline, MinTime: ParseLimit(values[6]).Duration,
	}, nil
}
