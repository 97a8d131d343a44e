// Package view says what a cluster's flex-start nodes are doing in one value,
// View, which everything that people look at is made of: the table and the
// JSON of `slurmflex status`, the story of `slurmflex why`, the web page. It is
// pure: no clock, no I/O.
//
// The names of the JSON are stable; docs/status.md explains them. Times are in
// UTC, durations in seconds. Jobs' names are not in it, and where Slurm hides
// jobs from users who do not own them, neither are their owners.
package view

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"slurmflex/slurm"
)

// View is a cluster as one round saw it.
type View struct {
	Cluster  string    `json:"cluster"`
	SeenAt   time.Time `json:"seen_at"`
	Rounds   *Rounds   `json:"rounds,omitempty"` // nil unless a daemon answers
	Regions  []Region  `json:"regions"`
	NodeSets []NodeSet `json:"nodesets"` // those that come by flex-start
	Rows     []Row     `json:"rows"`
	Groups   []Group   `json:"groups"`
	Jobs     []Job     `json:"jobs"`        // every job in Slurm's queue
	Skipped  []Skipped `json:"unread_rows"` // of Slurm's output
	Problems []string  `json:"problems"`
	Actions  []Action  `json:"actions"` // the last ones, the newest first

	// OtherNodes is the nodes, as a hostlist, that Slurm has and slurmflex does
	// not look after.
	OtherNodes string `json:"other_nodes"`
}

// Rounds is how the daemon fares.
type Rounds struct {
	LastGoodAt time.Time `json:"last_good_at,omitzero"`
	Interval   Seconds   `json:"interval_seconds"`
	Standby    bool      `json:"standby"`           // another host makes the rounds
	Trouble    string    `json:"trouble,omitempty"` // why the last round was not made
	TroubleAt  time.Time `json:"trouble_at,omitzero"`
}

// Says is what is wrong with the rounds; empty if nothing is, or no daemon
// answers.
func (r *Rounds) Says() string {
	switch {
	case r == nil || r.Trouble == "":
		return ""
	case r.Standby:
		return "this host makes no rounds (" + r.Trouble + "): ask there"
	}
	return "no rounds are made: " + r.Trouble + r.at()
}

// at is when the trouble was seen: the next try to make a round may be minutes
// away, and what stopped the last one over.
func (r *Rounds) at() string {
	if r.TroubleAt.IsZero() {
		return ""
	}
	return " (as of " + r.TroubleAt.UTC().Format("15:04:05 MST") + ")"
}

// Region is a region of Compute that has flex nodesets.
type Region struct {
	Name     string `json:"region"`
	Active   int    `json:"active_requests"`
	Most     int    `json:"max_active_requests"`
	ReadFail string `json:"error,omitempty"` // why it could not be read

	KnownAt time.Time `json:"last_known_at,omitzero"` // when it was last read, if it could not be read now
}

// NodeSet is a nodeset whose nodes come by flex-start.
type NodeSet struct {
	Name       string   `json:"nodeset"`
	Region     string   `json:"region"`
	Machine    string   `json:"machine_type,omitempty"` // empty while its template could not be read
	Partitions []string `json:"partitions"`
	Static     int      `json:"static_nodes"`
	Size       int      `json:"nodes"`
	Active     int      `json:"active_requests"`
	JobLease   bool     `json:"lease_follows_time_limit"`
	ByJob      bool     `json:"comes_by_job"` // all nodes of a job at once, or none
	Block      *Block   `json:"blocked,omitempty"`
	States     []Nodes  `json:"states"`

	Alternatives []Alternative `json:"alternatives"`
}

// Alternative is a partition that is up, has none of a nodeset's nodes, and only
// nodes that come by flex-start with the same machine type.
type Alternative struct {
	Partition string  `json:"partition"`
	Size      int     `json:"nodes"`
	Longest   Seconds `json:"longest_job_seconds"` // the time limit that every lease in it covers, or Slurm's MaxTime if that is less
}

// Block says that nothing is asked for, for too many instances in a row did
// not come up.
type Block struct {
	Failed int       `json:"failed_boots"`
	Until  time.Time `json:"until"`
}

// Nodes is the nodes of a nodeset that Slurm shows alike.
type Nodes struct {
	Nodes    string `json:"nodes"` // a hostlist
	Count    int    `json:"count"`
	Static   bool   `json:"static"`
	State    string `json:"state"` // in a word or two; see Word
	Slurm    string `json:"slurm_state"`
	Reason   string `json:"reason,omitempty"` // Slurm's, of being down, drained or powered down
	ReasonBy string `json:"reason_by,omitempty"`
}

// Row is nodes that wait together, or whose machines are alike.
type Row struct {
	NodeSet string   `json:"nodeset"`  // empty for machines of no node that is configured
	Jobs    []uint32 `json:"jobs"`     // that hold the nodes, the most important first, by their raw ids
	ShownAs []string `json:"shown_as"` // the same as squeue shows them; see Job.Name
	Users   []string `json:"users"`    // their owners
	Nodes   string   `json:"nodes"`    // a hostlist
	Count   int      `json:"count"`
	Static  bool     `json:"static"`
	State   State    `json:"state"`

	Region  string  `json:"region"`
	Zone    string  `json:"zone,omitempty"`
	Group   string  `json:"group,omitempty"`   // the managed instance group
	Request string  `json:"request,omitempty"` // the live resize request in it
	Lease   Seconds `json:"lease_seconds,omitempty"`

	KnownAt  time.Time `json:"last_known_at,omitzero"`   // what is said of the cloud is of that time: its region could not be read since
	Since    time.Time `json:"since,omitzero"`           // of the wait, or when the machines were made
	EndsAt   time.Time `json:"ends_at,omitzero"`         // of the lease
	Obstacle string    `json:"obstacle,omitempty"`       // why nothing is asked for now, or the machines are lost
	Failed   int       `json:"failed_attempts,omitzero"` // in a row
	NextAt   time.Time `json:"next_attempt_at,omitzero"`
	GiveUpAt time.Time `json:"gives_up_at,omitzero"`
	Then     string    `json:"then,omitempty"`  // what becomes of the job when it is given up
	Error    string    `json:"error,omitempty"` // the last, in Google's words
}

// State says what the nodes of a row are doing.
type State string

// The states of rows.
const (
	Asking     State = "asking"     // their request is being made, or checked by Compute
	Queued     State = "queued"     // their request waits for capacity
	Waiting    State = "waiting"    // nothing is asked for; Obstacle says why
	Returned   State = "returned"   // they go back to Slurm, with their job
	Cancelling State = "cancelling" // nobody wants their request any more
	Lost       State = "lost"       // their machines are gone under a job; Obstacle says why
	Booting    State = "booting"    // their machines are there, and have not registered with Slurm
	Running    State = "running"    // a job has them
	Idle       State = "idle"
	Down       State = "down" // Slurm does not use them: down, drained, or not responding
	Leaving    State = "leaving"
	Stranded   State = "stranded" // machines of ours that belong to no node
)

// Waits reports whether the row's nodes have no machines yet.
func (r Row) Waits() bool {
	return r.State == Asking || r.State == Queued || r.State == Waiting || r.State == Returned
}

// Group is a managed instance group of ours.
type Group struct {
	Name      string    `json:"group"`
	Region    string    `json:"region"`
	NodeSet   string    `json:"nodeset"`
	Job       uint32    `json:"job,omitzero"`   // that it was made for
	Node      string    `json:"node,omitempty"` // the one that it was made for, by itself
	CreatedAt time.Time `json:"created_at,omitzero"`
	Instances string    `json:"instances"` // a hostlist
	Requests  []Request `json:"requests"`  // the oldest first
}

// Request is a resize request.
type Request struct {
	Name      string    `json:"request"`
	State     string    `json:"state"` // in the API's words: CREATING, ACCEPTED, SUCCEEDED, FAILED, CANCELLED
	Nodes     string    `json:"nodes"` // a hostlist
	Count     int       `json:"count"`
	Lease     Seconds   `json:"lease_seconds"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	Cause     string    `json:"cause,omitempty"`
	Error     string    `json:"error,omitempty"`
}

// Job is a job in Slurm's queue.
type Job struct {
	ID        uint32    `json:"job"`
	ArrayID   uint32    `json:"array,omitzero"` // of an array's task
	ArrayTask string    `json:"array_task,omitempty"`
	HetID     uint32    `json:"het,omitzero"` // of a heterogeneous job's component
	HetOffset uint32    `json:"het_offset,omitzero"`
	User      string    `json:"user,omitempty"`
	Partition string    `json:"partition"`
	State     string    `json:"state"`            // Slurm's word
	Reason    string    `json:"reason,omitempty"` // why it is pending, in Slurm's words
	Nodes     string    `json:"nodes"`            // a hostlist
	StartAt   time.Time `json:"start_at,omitzero"`
	Limit     Seconds   `json:"time_limit_seconds,omitempty"` // absent: none, or not known
	Told      string    `json:"told,omitempty"`               // what slurmflex has written into its AdminComment
}

// Skipped is a row of Slurm's output that could not be read.
type Skipped struct {
	Kind  string `json:"kind"`           // job, node, reservation or partition
	Name  string `json:"name,omitempty"` // or the raw id of a job; absent if that could not be read
	Error string `json:"error"`
}

// holds reports whether the node is among those of the hostlist.
func holds(hostlist, node string) bool {
	names, err := slurm.Expand(hostlist)
	return err == nil && slices.Contains(names, node)
}

// NodeSet returns the nodeset of that name.
func (v View) NodeSet(name string) (NodeSet, bool) {
	for _, set := range v.NodeSets {
		if set.Name == name {
			return set, true
		}
	}
	return NodeSet{}, false
}

// unread reports whether a region could not be read.
func (v View) unread(region string) bool {
	return slices.ContainsFunc(v.Regions, func(r Region) bool { return r.Name == region && r.ReadFail != "" })
}

// lastKnown tells when a region was last read that could not be read now; zero if it
// never was. It reports false if it was read.
func (v View) lastKnown(region string) (at time.Time, unread bool) {
	for _, r := range v.Regions {
		if r.Name == region && r.ReadFail != "" {
			return r.KnownAt, true
		}
	}
	return time.Time{}, false
}

// Unread reports whether some region could not be read, so that what is not
// seen may be there all the same.
func (v View) Unread() bool {
	return slices.ContainsFunc(v.Regions, func(r Region) bool { return r.ReadFail != "" })
}

// Only is the part of the view that speaks of one nodeset; the jobs, problems
// and actions stay all.
func (v View) Only(nodeset string) View {
	other := func(name string) bool { return name != nodeset }
	v.Rows = slices.DeleteFunc(slices.Clone(v.Rows), func(r Row) bool { return other(r.NodeSet) })
	v.Groups = slices.DeleteFunc(slices.Clone(v.Groups), func(g Group) bool { return other(g.NodeSet) })
	v.NodeSets = slices.DeleteFunc(slices.Clone(v.NodeSets), func(s NodeSet) bool { return other(s.Name) })
	v.Regions = slices.DeleteFunc(slices.Clone(v.Regions), func(r Region) bool {
		return !slices.ContainsFunc(v.NodeSets, func(s NodeSet) bool { return s.Region == r.Name })
	})
	return v
}

// Seconds is a duration that is a number of seconds in JSON.
type Seconds time.Duration

// MarshalJSON writes seconds, with a fraction if there is one.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON reads seconds.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var n float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*s = Seconds(n * float64(time.Second))
	return nil
}
