package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JobRecord holds the facts about a job that are read before slurmflex notifies its owner or
// releases its nodes.
type JobRecord struct {
	ID           uint32
	State        JobState
	Requeue      bool   // Slurm may requeue the job
	Batch        bool   // submitted with sbatch; otherwise a user waits in salloc or srun
	AdminComment string // writable only by operators and by site programs that run as operators
	Comment      string // written by the job's owner

	// Deadline is the time at which the job must have ended; zero if it has no deadline. MinTime is
	// the job's --time-min; 0 if the job's time limit is fixed.
	Deadline time.Time
	MinTime  time.Duration
}

// Requeues reports whether Slurm requeues the job when it loses its nodes.
func (r JobRecord) Requeues() bool { return r.Batch && r.Requeue }

// JobRecordFormat returns the -O argument of squeue for ParseJobRecords. Its fields are the same in
// Slurm 22.05 to 26.05. Only the last two fields, the comments, hold free text, which may contain
// line breaks. An unpredictable mark identifies the start of a row and separates the two comments.
func JobRecordFormat(mark string) string {
	return "JobID:|" + mark + "|,State:|,Requeue:|,BatchFlag:|,Deadline:|,MinTime:|,admin_comment:" + commentMark(mark) + ",comment:"
}

func commentMark(mark string) string { return "<" + mark + ">" }

// ParseJobRecords parses job records from the output of squeue -h -r with JobRecordFormat(mark) under
// TZ=UTC. ids must be sorted. Rows of other jobs are left out. An unreadable row affects only that
// job's record: the error, which is returned with the other records, is Unread.
func ParseJobRecords(out []byte, mark string, ids []uint32) (records []JobRecord, _ error) {
	var unread Unread
	var rows []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.Contains(line, "|"+mark+"|"):
			rows = append(rows, line)
		case rows != nil: // another line of an AdminComment
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
		if _, asked := slices.BinarySearch(ids, id); !asked || len(records) > 0 && records[len(records)-1].ID == id {
			continue // another job, or another task that shares the record
		}
		record, err := parseJobRecord(id, row, mark)
		if err != nil {
			unread = append(unread, UnreadRow{Kind: JobRow, Name: number, Why: err.Error()})
			continue
		}
		records = append(records, record)
	}
	if unread != nil {
		return records, unread
	}
	return records, nil
}

// parseJobRecord parses one row.
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
	batch, err := strconv.ParseUint(values[4], 10, 16) // slurmctld counts failed launches in it
	if err != nil {
		return JobRecord{}, fmt.Errorf("BatchFlag %s", quote(values[4]))
	}
	return JobRecord{
		ID: id, State: JobState(values[2]),
		Requeue: values[3] == "1", Batch: batch > 0, AdminComment: notNull(admin), Comment: notNull(own),
		Deadline: deadline, MinTime: ParseLimit(values[6]).Duration,
	}, nil
}
