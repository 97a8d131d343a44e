package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// JobRecord is what is asked of a job before it is told something, or loses its
// nodes.
type JobRecord struct {
	ID           uint32
	State        JobState
	Requeue      bool   // Slurm may requeue it
	Batch        bool   // from sbatch; otherwise somebody waits in salloc or srun
	AdminComment string // only operators can write it, and programs of the site that run as they do
}

// Requeues reports whether Slurm puts the job back into the queue when it loses
// its nodes.
func (r JobRecord) Requeues() bool { return r.Batch && r.Requeue }

// JobRecordFormat is the -O argument of squeue for ParseJobRecords. Its fields
// are the same in Slurm 22.05 to 26.05, and none but the AdminComment, the last,
// holds text that somebody writes. That may have line breaks: a mark that
// nobody can foresee tells the start of a row from such a line.
func JobRecordFormat(mark string) string {
	return "JobID:|" + mark + "|,State:|,Requeue:|,BatchFlag:|,admin_comment:"
}

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
// squeue -h with JobRecordFormat(mark) printed; rows of other jobs are left out.
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
		record, err := parseJobRecord(id, row)
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
func parseJobRecord(id uint32, row string) (JobRecord, error) {
	const fields = 6
	values := strings.SplitN(row, "|", fields)
	if len(values) < fields {
		return JobRecord{}, fmt.Errorf("%d fields, not %d", len(values), fields)
	}
	return JobRecord{
		ID: id, State: JobState(values[2]),
		Requeue: values[3] == "1", Batch: values[4] == "1", AdminComment: notNull(values[5]),
	}, nil
}
