// Package history records the waits for machines, the leases, and the stories of jobs: one line of
// JSON for each that has ended, in append-only files. docs/slurmflex.schema.json has the names. The history
// serves people, estimates, bills, and the limits on what is spent. Nothing else is decided from it.
//
// To sum up machines, call Read with kind Lease: it yields the finished leases first, oldest first,
// and then those that have not ended (Entry.Ongoing), up to the last look.
package history

import (
	"errors"
	"fmt"
	"time"

	"slurmflex/mig"
)

// Version is the version of the lines that this program writes. It does not read newer ones.
const Version = 1

// Kind is the kind of a line.
type Kind string

// The kinds of lines.
const (
	Wait  Kind = "wait"  // for machines that were requested together
	Lease Kind = "lease" // of one machine
	Job   Kind = "job"   // the story of a job; see StoryLine
)

// ending is the way a wait ended.
type ending string

// The ends of waits. Only Granted waits brought machines. How long the others would have lasted is
// unknown. Lines of earlier versions have further ends.
const (
	Granted   ending = "granted"
	Withdrawn ending = "withdrawn"
)

// Time is a time in seconds since 1970. In JSON it is RFC 3339 in UTC.
type Time int64

// At returns the time in whole seconds; 0 for the zero time.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.Unix())
}

// Time returns the time as a time.Time in UTC.
func (t Time) Time() time.Time { return time.Unix(int64(t), 0).UTC() }

// MarshalJSON writes RFC 3339.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.Time().AppendFormat(nil, `"`+time.RFC3339+`"`), nil
}

// UnmarshalJSON parses RFC 3339.
func (t *Time) UnmarshalJSON(data []byte) error {
	var at time.Time
	if err := at.UnmarshalJSON(data); err != nil {
		return err
	}
	*t = Time(at.Unix())
	return nil
}

// Entry is a line. All durations are in whole seconds.
type Entry struct {
	Version int    `json:"v"`    // 1; rises if a name changes its meaning
	Kind    Kind   `json:"kind"` // wait: for machines that are requested together; lease: of one machine
	ID      string `json:"id"`   // the same from every writer; the first line with an ID counts

	NodeSet string `json:"nodeset"`
	Machine string `json:"machine_type,omitempty"` // empty if the template could not be read
	Region  string `json:"region"`
	Zone    string `json:"zone,omitempty"` // of the machines; empty for a wait without any
	Node    string `json:"node,omitempty"` // of a lease
	Host    string `json:"host,omitempty"` // of a lease: the physical host; empty if unknown
	Count   int    `json:"count"`          // machines
	GPUs    int    `json:"gpus"`           // of all machines; 0 also if unknown
	Seconds int64  `json:"lease_seconds"`  // requested lease; 0 if unknown

	From Time `json:"from"` // of a wait: the first request; of a lease: the creation of the machine
	To   Time `json:"to"`   // of a wait: the first machine, or the wait's end; of a lease: its end

	End      ending    `json:"end,omitempty"`      // of a wait: granted, or withdrawn (without machines)
	Attempts int       `json:"attempts,omitempty"` // requests during the wait
	Cause    mig.Cause `json:"cause,omitempty"`    // of the last failed attempt, as in the metrics

	Who             // the job that the machines were requested for; empty for static nodes
	FlexStart bool  `json:"flex_start,omitempty"`      // of a lease: billed as flex-start
	Spot      bool  `json:"spot,omitempty"`            // billed as spot; neither: on demand
	Booting   int64 `json:"booting_seconds,omitempty"` // of a lease: until its node was available to Slurm, or the whole lease
	Uses      []Use `json:"jobs,omitempty"`            // jobs on the machine, ordered by start

	Unhealthy string `json:"failed_check,omitempty"` // why the machine failed its health check
	BadHost   bool   `json:"bad_host,omitempty"`     // an earlier machine on its host failed its check in the day before

	// RaceLost is how long the machine existed for a job that started in another nodeset, from the
	// machine's creation until its deletion or until another job got the machine.
	RaceLost int64 `json:"race_lost_seconds,omitempty"`

	// Ongoing is true if the wait or lease had not ended when a pass last looked. To is the time of
	// that look. Lines in the file are never ongoing.
	Ongoing bool `json:"-"`
}

// Who is a job and its owner.
type Who struct {
	Job       uint32 `json:"job,omitempty"`  // raw id
	Name      string `json:"name,omitempty"` // as in squeue: 812_3, 812+1; empty if it is the raw id
	User      string `json:"user,omitempty"`
	Account   string `json:"account,omitempty"` // empty if Slurm keeps none
	Partition string `json:"partition,omitempty"`
}

// Use is a job on a machine.
type Use struct {
	Who
	From Time `json:"from"`
	To   Time `json:"to"`
}

// Took returns how long the wait or the lease lasted, in seconds.
func (e *Entry) Took() int64 { return int64(e.To - e.From) }

// check returns an error if the fields of an entry are inconsistent.
func (e *Entry) check() error {
	switch {
	case e.Version < 1 || e.Version > Version:
		return fmt.Errorf("version %d is not known", e.Version)
	case e.ID == "" || e.From <= 0 || e.To < e.From || e.Count < 1 || e.GPUs < 0 || e.Seconds < 0:
		return errors.New("id, from, to, count, gpus or lease_seconds is missing or wrong")
	case e.Kind == Wait && e.End != "":
		return nil
	case e.Kind == Lease:
		return e.checkLease()
	}
	return fmt.Errorf("kind %q is not known", e.Kind)
}

// checkLease checks that everything in a lease happened during it.
func (e *Entry) checkLease() error {
	if e.Booting < 0 || e.Booting > e.Took() {
		return errors.New("booting_seconds are not those of the lease")
	}
	if e.RaceLost < 0 || e.RaceLost > e.Took() {
		return errors.New("race_lost_seconds are not those of the lease")
	}
	for _, u := range e.Uses {
		if u.From < e.From || u.To < u.From || u.To > e.To {
			return fmt.Errorf("job %d was not on the machine during its lease", u.Job)
		}
	}
	return nil
}
