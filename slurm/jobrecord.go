package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// JobRecord is one record of scontrol show job.
type JobRecord struct {
	ID        uint32
	ArrayID   uint32   // 0 for a job that is no array task
	ArrayTask string   // a task's index, or a set such as "3-9%2"
	HetID     uint32   // the leader's id, 0 for no component of a heterogeneous job
	HetIDs    []uint32 // of all components, the leader's and its own too
	State     JobState
	Reason    string // why it is pending
	Requeue   bool   // Slurm may requeue it
	Batch     bool   // from sbatch; else somebody waits in salloc or srun
	Restarts  int
	Limit     Limit
	MinLimit  Limit    // --time-min; LimitUnknown for none
	Partition string   // several, joined by commas, while it may choose
	Nodes     []string // allocated
	// AdminComment and Comment are for showing only: they stand behind texts
	// of the job's owner (command line, working directory), who can imitate
	// one that is not set.
	AdminComment, Comment string
}

// noJobs is what scontrol prints, with exit status 0, when there are no jobs.
const noJobs = "No jobs in the system"

// JobRecordError is a job record that cannot be understood in one way only.
type JobRecordError struct {
	ID  uint32
	Why string
}

// Error names the job.
func (e *JobRecordError) Error() string {
	return fmt.Sprintf("record of job %d: %s", e.ID, e.Why)
}

// jobRecordErrors says all of them on one line.
type jobRecordErrors []error

func (e jobRecordErrors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e jobRecordErrors) Unwrap() []error { return e }

// ParseJobRecords reads what scontrol show jobs printed, with -o or without.
//
// A job's owner chooses its name, account, command, directory and comment, so
// these may hold anything, even lines that look like records. A record counts
// only if it can be read in one way:
//   - " UserId=", which ends the job's name, and " Command=", which begins the
//     owner's other texts, are in it once, in this order;
//   - every field is between the two once, but for the ids, which come before
//     the name;
//   - " AdminComment=" and " Comment=" are behind them at most once;
//   - no other record has its job id.
//
// Records that do not count are left out, and each is reported as a
// *JobRecordError, joined into an error that comes with the records that do.
// Who asks for one job gets only records of its owner; in a list of all jobs,
// a forged record can still pass for a job that does not exist. Output without
// any record is an error.
func ParseJobRecords(out []byte) ([]JobRecord, error) {
	// Without -o every line but a record's first is indented by three spaces.
	text := strings.ReplaceAll(strings.TrimSpace(string(out)), "\n   ", " ")
	if text == noJobs {
		return nil, nil
	}
	heads := jobRecordHead.FindAllStringSubmatchIndex(text, -1)
	if heads == nil || heads[0][0] != 0 {
		return nil, fmt.Errorf("scontrol show job: %s: not a job record", quote(text))
	}

	var read []JobRecord
	var problems jobRecordErrors
	times := make(map[uint32]int)
	for i, head := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		id, err := parseJobID(text[head[2]:head[3]])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		times[id]++
		record, why := parseJobRecord(id, text[head[0]:end])
		if why != nil {
			problems = append(problems, &JobRecordError{ID: id, Why: why.Error()})
			continue
		}
		read = append(read, record)
	}

	var records []JobRecord
	for _, record := range read {
		if n := times[record.ID]; n > 1 {
			problems = append(problems, &JobRecordError{ID: record.ID, Why: fmt.Sprintf("there are %d of it", n)})
			continue
		}
		records = append(records, record)
	}
	if problems != nil {
		return records, problems
	}
	return records, nil
}

// jobRecordHead is the beginning of a record.
var jobRecordHead = regexp.MustCompile(`(?m)^JobId=(\d+) (?:ArrayJobId|HetJobId|JobName)=`)

// parseJobRecord reads one record. The order of the keys is that of Slurm
// 22.05 to 26.05 (src/api/job_info.c, slurm_sprint_job_info).
func parseJobRecord(id uint32, text string) (JobRecord, error) {
	for _, key := range []string{"UserId", "Command"} {
		if n := countKey(text, key); n != 1 {
			return JobRecord{}, fmt.Errorf("%s= is in it %d times, not once", key, n)
		}
	}
	beforeUser, afterUser, _ := cutKey(text, "UserId")
	fields, ownerTexts, found := cutKey(afterUser, "Command")
	if !found {
		return JobRecord{}, errors.New("no Command= behind UserId=")
	}
	ids, _, found := cutKey(beforeUser, "JobName")
	if !found {
		return JobRecord{}, errors.New("no JobName= before UserId=")
	}

	record := JobRecord{ID: id, ArrayTask: wordAfter(ids, "ArrayTaskId")}
	var err error
	if record.ArrayID, err = optionalID(ids, "ArrayJobId"); err != nil {
		return JobRecord{}, err
	}
	if record.HetID, err = optionalID(ids, "HetJobId"); err != nil {
		return JobRecord{}, err
	}
	if record.HetID != 0 {
		if record.HetIDs, err = componentIDs(beforeUser); err != nil {
			return JobRecord{}, err
		}
	}
	if err := record.setFields(fields); err != nil {
		return JobRecord{}, err
	}
	if record.AdminComment, err = ownerText(ownerTexts, "AdminComment"); err != nil {
		return JobRecord{}, err
	}
	if record.Comment, err = ownerText(ownerTexts, "Comment"); err != nil {
		return JobRecord{}, err
	}
	return record, nil
}

// optionalID is the job id after " key=", 0 when there is none.
func optionalID(ids, key string) (uint32, error) {
	text := wordAfter(ids, key)
	if text == "" {
		return 0, nil
	}
	id, err := parseJobID(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return id, nil
}

// componentIDs are those of the set, such as "6-7", at the end of what stands
// before a component's user. The job's name, which may imitate it, stands
// before the set.
func componentIDs(beforeUser string) ([]uint32, error) {
	const key = " HetJobIdSet="
	at := strings.LastIndex(beforeUser, key)
	if at < 0 {
		return nil, errors.New("no HetJobIdSet= before UserId=")
	}
	numbers, err := Expand("[" + beforeUser[at+len(key):] + "]")
	if err != nil {
		return nil, fmt.Errorf("HetJobIdSet: %w", err)
	}
	ids := make([]uint32, len(numbers))
	for i, number := range numbers {
		if ids[i], err = parseJobID(number); err != nil {
			return nil, fmt.Errorf("HetJobIdSet: %w", err)
		}
	}
	return ids, nil
}

// setFields reads the fields between the user and the command.
func (r *JobRecord) setFields(fields string) error {
	values := make(map[string]string)
	for _, key := range []string{
		"JobState", "Reason", "Requeue", "Restarts", "BatchFlag", "TimeLimit", "TimeMin", "Partition", "NodeList",
	} {
		if n := countKey(fields, key); n != 1 {
			return fmt.Errorf("%s= is in it %d times, not once", key, n)
		}
		values[key] = wordAfter(fields, key)
	}
	r.State = JobState(values["JobState"])
	r.Reason = values["Reason"]
	r.Requeue = values["Requeue"] == "1"
	r.Batch = values["BatchFlag"] == "1"
	r.Limit = ParseLimit(values["TimeLimit"])
	r.MinLimit = ParseLimit(values["TimeMin"])
	r.Partition = values["Partition"]
	var err error
	if r.Restarts, err = strconv.Atoi(values["Restarts"]); err != nil {
		return fmt.Errorf("number of restarts %s: not a number", quote(values["Restarts"]))
	}
	r.Nodes, err = Expand(values["NodeList"])
	return err
}

// ownerText is the comment after " key=", behind the command.
func ownerText(texts, key string) (string, error) {
	if n := countKey(texts, key); n > 1 {
		return "", fmt.Errorf("%s= is in it %d times, not once", key, n)
	}
	return freeText(texts, key, "SystemComment", "Comment", "StdErr"), nil
}
