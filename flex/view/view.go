// Package view describes what a cluster's flex-start nodes are doing in one value,
// View, from which everything that people look at is made: the table and the JSON
// of `slurmflex status`, the story of `slurmflex why`, the web page. It is pure: no
// clock, no I/O.
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

	"slurmflex/config"
	"slurmflex/slurm"
)

// View is a cluster as one reconcile pass saw it.
type View struct {
	Envelope
	Cluster  string    `json:"cluster"`
	SeenAt   time.Time `json:"seen_at"`
	Daemon   *Daemon   `json:"daemon,omitempty"` // nil unless a daemon answers
	Regions  []Region  `json:"regions"`
	NodeSets []NodeSet `json:"nodesets"` // the flex-start ones
	Rows     []Row     `json:"rows"`
	Groups   []Group   `json:"groups"`
	Hosts    []Host    `json:"hosts"`       // of machines of which Compute shows where they are
	Jobs     []Job     `json:"jobs"`        // every job in Slurm's queue
	Skipped  []Skipped `json:"unread_rows"` // of Slurm's output
	Problems []string  `json:"problems"`
	Listed   []Problem `json:"problem_list"` // the problems that a pass found, with what they are about
	Actions  []Action  `json:"actions"`      // the last ones, the newest first

	// OtherNodes is the nodes, as a hostlist, that Slurm has and slurmflex does
	// not manage.
	OtherNodes string `json:"other_nodes"`
}

// Problem is one that a pass found.
type Problem struct {
	Kind  string `json:"kind"`            // such as boot-timeout
	About string `json:"about,omitempty"` // the group, nodes, nodeset, region or job
	Text  string `json:"problem"`
}

// Daemon is how the daemon's reconcile passes go.
type Daemon struct {
	LastGoodAt time.Time `json:"last_good_pass_at,omitzero"`
	Interval   Seconds   `json:"interval_seconds"`
	Standby    bool      `json:"standby"`         // another host reconciles
	Error      string    `json:"error,omitempty"` // why the last pass failed
	ErrorAt    time.Time `json:"error_at,omitzero"`
}

// Says is what is wrong with the passes; empty if nothing is, or no daemon
// answers.
func (d *Daemon) Says() string {
	switch {
	case d == nil || d.Error == "":
		return ""
	case d.Standby:
		return "this host is on standby (" + d.Error + "): ask there"
	}
	return "slurmflex has stopped reconciling: " + d.Error + d.at()
}

// at is when the error was seen. The next attempt may be minutes away, and the
// cause may be gone by then.
func (d *Daemon) at() string {
	if d.ErrorAt.IsZero() {
		return ""
	}
	return " (as of " + d.ErrorAt.UTC().Format("15:04:05 MST") + ")"
}

// Region is a region of Compute that has flex nodesets.
type Region struct {
	Name     string `json:"region"`
	Active   int    `json:"active_requests"`
	Most     int    `json:"max_active_requests"`
	ReadFail string `json:"error,omitempty"` // why it could not be read

	KnownAt time.Time `json:"last_known_at,omitzero"` // when it was last read, if it could not be read now

	GPUs      []GPUQuota  `json:"gpu_quotas"`               // those of its nodesets' machines that Compute shows
	Tightest  *QuotaUsage `json:"tightest_quota,omitempty"` // nil if Compute shows none
	QuotaFail string      `json:"quota_error,omitempty"`    // why the quotas could not be read
	QuotasAt  time.Time   `json:"quotas_at,omitzero"`       // when the quotas were read; zero: never
}

// NodeSet is a nodeset whose nodes slurmflex provisions.
type NodeSet struct {
	Name       string          `json:"nodeset"`
	Capacity   config.Capacity `json:"capacity"`
	Region     string          `json:"region"`
	Zones      []string        `json:"zones"`                  // where its machines may come from
	Machine    string          `json:"machine_type,omitempty"` // empty while its template could not be read
	Price      *Price          `json:"price,omitempty"`        // nil if the price file has none
	Partitions []string        `json:"partitions"`
	Static     int             `json:"static_nodes"`
	Size       int             `json:"nodes"`
	Active     int             `json:"active_requests"`
	JobLease   bool            `json:"lease_follows_time_limit"`
	Margin     Seconds         `json:"lease_margin_seconds"`              // added to the time limit
	ByJob      bool            `json:"comes_by_job"`                      // all nodes of a job at once, or none
	Requeues   Seconds         `json:"requeues_before_lease_end_seconds"` // a running job, this long before the lease ends; 0: never
	Block      *Block          `json:"blocked,omitempty"`
	States     []Nodes         `json:"states"`

	Alternatives []Alternative `json:"alternatives"`
}

// Price is what a machine of a nodeset costs.
type Price struct {
	Hour     float64 `json:"machine_hour"` // 0 or more
	Currency string  `json:"currency"`
}

// Alternative is a partition that is up, has none of a nodeset's nodes, and only
// flex-start nodes of the same machine type.
type Alternative struct {
	Partition string  `json:"partition"`
	Size      int     `json:"nodes"`
	Longest   Seconds `json:"longest_job_seconds"` // the time limit that every lease in it covers, or Slurm's MaxTime if that is less
}

// Block says that nothing is requested, because too many machines in a row failed
// to boot.
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

	RequestedAt time.Time `json:"requested_at,omitzero"` // when the live request was made

	least  Seconds // of pending jobs: the shortest time limit; Lease is the longest, 0 if one has none
	begins bool    // of pending jobs: NextAt is when Slurm lets the first start, not when it expects that

	KnownAt  time.Time `json:"last_known_at,omitzero"`   // the time of what is said of the cloud, if its region could not be read since
	Since    time.Time `json:"since,omitzero"`           // of the wait, or when the machines were made
	EndsAt   time.Time `json:"ends_at,omitzero"`         // of the lease, or when maintenance begins
	Maintain time.Time `json:"maintenance_at,omitzero"`  // when maintenance of their hosts begins, if that is before their lease ends
	KeptTo   time.Time `json:"kept_until,omitzero"`      // of idle machines: when the first of them is powered down unless a job takes it
	Obstacle string    `json:"obstacle,omitempty"`       // why nothing is requested now, or what became of lost machines
	Failed   int       `json:"failed_attempts,omitzero"` // in a row
	NextAt   time.Time `json:"next_attempt_at,omitzero"`

	FailingSince time.Time `json:"failing_since,omitzero"`          // when the first call failed, if calls are repeated in every pass
	RetryEvery   Seconds   `json:"retry_interval_seconds,omitzero"` // average time between two of these calls

	GiveUpAt time.Time `json:"gives_up_at,omitzero"`
	GiveUpBy string    `json:"gives_up_by,omitempty"` // the limit that this is of
	Then     string    `json:"then,omitempty"`        // what is done with the job then
	Estimate *Estimate `json:"estimate,omitempty"`    // of a wait, where the history says
	Cause    string    `json:"cause,omitempty"`       // of the last error
	Brief    string    `json:"brief,omitempty"`       // that error in a few words
	Quota    *UsedUp   `json:"quota,omitempty"`       // that is used up, if Google named it
	Error    string    `json:"error,omitempty"`       // the last of Google's error messages
}

// UsedUp is a quota that leaves no room for a request.
type UsedUp struct {
	Quota  string  `json:"quota"`            // in the API's words
	Limit  float64 `json:"limit,omitzero"`   // 0: unknown
	Region string  `json:"region,omitempty"` // of the quota; empty: unknown
}

// State says what the nodes of a row are doing.
type State string

// The states of rows.
const (
	Asking     State = "asking"     // their request is being made, or checked by Compute
	Queued     State = "queued"     // their request waits for capacity
	Waiting    State = "waiting"    // nothing is requested; Obstacle says why
	Returned   State = "returned"   // they are returned to Slurm, with their job
	Pending    State = "pending"    // the jobs have no nodes yet; only in the table
	Cancelling State = "cancelling" // no job needs their request any more
	Lost       State = "lost"       // their machines are gone under a job; Obstacle says why
	Booting    State = "booting"    // their machines exist, and have not registered with Slurm
	Starting   State = "starting"   // their machines are up, and their job has not started yet
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
	Array     uint32    `json:"array,omitzero"` // whose tasks share it
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
	State     string    `json:"state"`                         // Slurm's word
	Reason    string    `json:"reason,omitempty"`              // why it is pending, in Slurm's words
	Obstacle  string    `json:"obstacle,omitempty"`            // why no machines are requested for it while it is pending
	NextAt    time.Time `json:"next_attempt_at,omitzero"`      // when they are requested again, if that is known
	Nodes     string    `json:"nodes"`                         // a hostlist
	Placed    string    `json:"waits_configuring,omitempty"`   // why it waits CONFIGURING where other jobs wait PENDING
	Awaits    string    `json:"awaits,omitempty"`              // a hostlist of nodes: their machines are requested for it while it is pending
	Places    int       `json:"places,omitempty"`              // of these nodes: it starts in the first whose machines have all registered
	NodeCount int       `json:"node_count,omitzero"`           // that it has, or while it is pending needs at least
	GPUs      int       `json:"gpus_per_node,omitzero"`        // that it asks for by --gres or --gpus-per-node
	Unused    int       `json:"unused_gpus_per_node,omitzero"` // the others, where it gets whole nodes
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

// lastKnown is when a region was last read that could not be read now; zero if it
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
// seen may exist after all.
func (v View) Unread() bool {
	return slices.ContainsFunc(v.Regions, func(r Region) bool { return r.ReadFail != "" })
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
