// Package history keeps a record of what waits for machines and leases came to:
// one line of JSON for each that ended, in files that are only ever appended to.
// docs/status.md has the schema. It is for people, for estimates and for bills:
// nothing is decided by it, and its loss harms nothing.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Version is that of the lines that this program writes. It reads no newer ones.
const Version = 1

// Kind says what a line is about.
type Kind string

// The kinds of lines.
const (
	Wait  Kind = "wait"  // for machines that were requested together
	Lease Kind = "lease" // of one machine
)

// End says how a wait ended.
type End string

// The ends of waits. Only Granted ones brought machines; how long the others
// would have lasted is not known.
const (
	Granted   End = "granted"
	Withdrawn End = "withdrawn" // nobody wanted the machines any more
	Failed    End = "failed"    // for good, or the job left while its last attempt had failed
	Moved     End = "moved"     // the job waits elsewhere now
)

// Time is a time in seconds since 1970; in JSON it is RFC 3339 in UTC.
type Time int64

// At is the time in whole seconds; 0 for the zero time.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.Unix())
}

// Time is the same as the standard library has it, in UTC.
func (t Time) Time() time.Time { return time.Unix(int64(t), 0).UTC() }

// MarshalJSON writes RFC 3339.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.Time().Format(time.RFC3339)) }

// UnmarshalJSON reads RFC 3339.
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
	Version int    `json:"v"`
	Kind    Kind   `json:"kind"`
	ID      string `json:"id"` // the same from every writer: of several lines with one ID the first counts

	NodeSet string `json:"nodeset"`
	Machine string `json:"machine_type,omitempty"` // empty if the template could not be read
	Region  string `json:"region"`
	Zone    string `json:"zone,omitempty"` // where the machines were; empty for a wait without machines
	Node    string `json:"node,omitempty"` // of a lease
	Count   int    `json:"count"`          // machines
	GPUs    int    `json:"gpus"`           // of all of them; 0 also if that is not known
	Seconds int64  `json:"lease_seconds"`  // that the lease was requested for; 0 if that is not known

	From Time `json:"from"` // when the first request was made, or the machine
	To   Time `json:"to"`   // when the machines were made, the wait was given up, or the machine was gone

	End      End    `json:"end,omitempty"`      // of a wait
	Told     string `json:"told,omitempty"`     // slurmflex's AdminComment of the job
	Attempts int    `json:"attempts,omitempty"` // requests that the wait took
	Cause    string `json:"cause,omitempty"`    // of the last attempt that failed, as in the metrics

	Who             // whom the machines were requested for; without a job for static nodes
	FlexStart bool  `json:"flex_start,omitempty"` // of a lease: what it is billed as
	Spot      bool  `json:"spot,omitempty"`       // the same; neither: on demand
	Booting   int64 `json:"booting_seconds,omitempty"`
	Used      int64 `json:"used_seconds,omitempty"`
	Idle      int64 `json:"idle_seconds,omitempty"`
	Wasted    int64 `json:"wasted_seconds,omitempty"`
	Uses      []Use `json:"jobs,omitempty"` // that ran on the machine, by the time they began

	// RaceLost is how long the machine existed for a job that started in another nodeset, from the
	// machine's creation until its deletion or until another job got the machine. These seconds also
	// count as booting, idle or wasted.
	RaceLost int64 `json:"race_lost_seconds,omitempty"`

	// Ongoing says that it had not ended when a pass last looked, which is what To is
	// then. No line is so.
	Ongoing bool `json:"-"`
}

// Who is a job and its owner.
type Who struct {
	Job       uint32 `json:"job,omitempty"`  // raw id
	Name      string `json:"name,omitempty"` // as squeue shows it: 812_3, 812+1; empty if it is the raw id
	User      string `json:"user,omitempty"`
	Account   string `json:"account,omitempty"` // empty if Slurm keeps none
	Partition string `json:"partition,omitempty"`
}

// Use is a job on a machine.
type Use struct {
	Who
	From Time   `json:"from"`
	To   Time   `json:"to"`
	Told string `json:"told,omitempty"` // slurmflex's last AdminComment; only on the job's first node
}

// Took is how long the wait or the lease lasted, in seconds.
func (e *Entry) Took() int64 { return int64(e.To - e.From) }

// check returns an error if the parts of an entry do not make a whole.
func (e *Entry) check() error {
	switch {
	case e.Version < 1 || e.Version > Version:
		return fmt.Errorf("version %d is not known", e.Version)
	case e.ID == "" || e.From <= 0 || e.To < e.From || e.Count < 1 || e.GPUs < 0 || e.Seconds < 0:
		return errors.New("id, from, to, count, gpus or lease_seconds is missing or wrong")
	case e.Kind == Wait:
		return e.checkWait()
	case e.Kind == Lease:
		return e.checkLease()
	}
	return fmt.Errorf("kind %q is not known", e.Kind)
}

func (e *Entry) checkWait() error {
	switch e.End {
	case Granted, Withdrawn, Failed, Moved:
		return nil
	}
	return fmt.Errorf("end %q is not known", e.End)
}

// checkLease holds that the parts of a lease are its whole: a bill adds them up.
func (e *Entry) checkLease() error {
	if min(e.Booting, e.Used, e.Idle, e.Wasted) < 0 || e.Booting+e.Used+e.Idle+e.Wasted != e.Took() {
		return errors.New("the seconds booting, used, idle and wasted are not those of the lease")
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
