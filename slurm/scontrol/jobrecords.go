package scontrol

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"slurmflex/slurm"
)

// records are job records, and errors of rows that could not be read. With err, none were read.
type records struct {
	read   []slurm.JobRecord
	unread slurm.Unread
	err    error
}

// JobRecords reads the records of these jobs, once each, in any order. Jobs that slurmctld no
// longer knows are left out. Unreadable records are left out too: the error that is returned with
// the other records is slurm.Unread. With any other error no records are returned. One command reads the records for calls that wait at the same time.
func (c *Client) JobRecords(ctx context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := c.records.ask(ctx, ids, math.MaxInt, c.readRecords)
	if err = cmp.Or(err, all.err); err != nil {
		return nil, err
	}
	var read []slurm.JobRecord
	for _, rec := range all.read {
		if slices.Contains(ids, rec.ID) {
			read = append(read, rec)
		}
	}
	var unread slurm.Unread
	for _, row := range all.unread {
		if slices.Contains(ids, row.Job()) {
			unread = append(unread, row)
		}
	}
	if unread == nil {
		return read, nil
	}
	return read, unread
}

// mostNamed is how many jobs a command names. For more, squeue prints the rows of all jobs.
const mostNamed = 1000

// readRecords runs squeue once for several calls of JobRecords, and gives each of them all records. Without
// -r, 26.05 shows all waiting tasks of an array in one row.
func (c *Client) readRecords(ctx context.Context, calls [][]uint32) []records {
	ids := slices.Compact(slices.Sorted(slices.Values(slices.Concat(calls...))))
	mark := rand.Text()
	args := []string{"-r", "-t", "all", "-O", slurm.JobRecordFormat(mark)}
	if len(ids) <= mostNamed {
		var names []string
		for _, id := range ids {
			names = append(names, strconv.FormatUint(uint64(id), 10))
		}
		args = append(args, "-j", strings.Join(names, ","))
	}
	var all records
	out, err := c.squeue(ctx, args...)
	if err == nil {
		all.read, err = slurm.ParseJobRecords(out, mark, ids)
	}
	if all.err = all.unread.Take(err); errors.Is(err, ErrUnknownJob) {
		all.err = nil
	}
	return slices.Repeat([]records{all}, len(calls))
}
