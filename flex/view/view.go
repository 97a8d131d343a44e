// Package view describes the state of a cluster's flex-start nodes in one value, View. Everything
// that people see derives from this value: the table and the JSON of `slurmflex status`, the answers
// of `slurmflex why`, and the web page. The package is pure: it uses no clock and no I/O.
//
// The JSON names are stable; docs/slurmflex.schema.json explains them by the comments here. Times are in
// UTC, durations in seconds.
// A View omits the names of jobs. If Slurm hides jobs from users other than their owners, a View
// also omits the owners.
package view

import (
	"encoding/json"
	"strconv"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// View is a cluster as one reconcile pass saw it.
type View struct {
	Envelope
	Cluster  string          `json:"cluster"`
	SeenAt   time.Time       `json:"seen_at"`          // when the pass read all this
	Daemon   *Daemon         `json:"daemon,omitempty"` // absent if the command had to read Slurm and Compute itself
	Regions  []Region        `json:"regions"`          // those that slurmflex provisions
	NodeSets []NodeSet       `json:"nodesets"`         // those that slurmflex provisions
	Rows     []Row           `json:"rows"`             // waiting nodes, and machines
	Groups   []Group         `json:"groups"`           // managed instance groups
	Jobs     []Job           `json:"jobs"`             // every job in Slurm's queue
	Skipped  []Skipped       `json:"unread_rows"`      // jobs, nodes, reservations or partitions of Slurm that could not be read
	Limits   []Limit         `json:"limits"`           // on GPU hours and money
	Problems []string        `json:"problems"`
	Listed   []scene.Problem `json:"problem_list"` // problems that a pass found, with their subjects
	Actions  []Action        `json:"actions"`      // newest first, at most 300; messages to jobs only if they failed

	// OtherNodes are Slurm's nodes that slurmflex does not manage, as a hostlist.
	OtherNodes Hostlist `json:"other_nodes"`
}

// Daemon describes the daemon's reconcile passes.
type Daemon struct {
	LastGoodAt time.Time `json:"last_good_pass_at,omitzero"` // here or on another controller
	Interval   Seconds   `json:"interval_seconds"`
	Standby    bool      `json:"standby"`         // another host reconciles
	Error      string    `json:"error,omitempty"` // why the last pass failed
	ErrorAt    time.Time `json:"error_at,omitzero"`
}

// Says returns what is wrong with the passes; empty if all is well or no daemon answers.
func (d *Daemon) Says() string {
	switch {
	case d == nil || d.Error == "":
		return ""
	case d.Standby:
		return "this host is on standby (" + d.Error + "): ask there"
	}
	return "slurmflex has stopped reconciling: " + d.Error + d.at()
}

// at returns when the error occurred. The next attempt may be minutes away, and the cause may have
// disappeared by then.
func (d *Daemon) at() string {
	if d.ErrorAt.IsZero() {
		return ""
	}
	return " (as of " + d.ErrorAt.UTC().Format("15:04:05 MST") + ")"
}

// Region is a region of Compute with flex nodesets.
type Region struct {
	Name     string `json:"region"`
	Active   int    `json:"active_requests"`
	Most     int    `json:"max_active_requests"`
	ReadFail string `json:"error,omitempty"` // why it could not be read

	// KnownAt is the time of the last reading, if the region could not be read now.
	KnownAt time.Time `json:"last_known_at,omitzero"`
}

// NodeSet is a nodeset with nodes that slurmflex provisions.
type NodeSet struct {
	Name     string          `json:"nodeset"`
	Capacity config.Capacity `json:"capacity"` // flex_start, on_demand, spot or reservation
	Region   string          `json:"region"`
	Zones    []string        `json:"zones"` // possible zones of its machines
	// Machine is empty while the nodeset's template cannot be read.
	Machine    string   `json:"machine_type,omitempty"`
	Price      *Price   `json:"price,omitempty"` // absent if a user may not read the price file, or it lacks the machine type
	Partitions []string `json:"partitions"`
	Static     int      `json:"static_nodes"`
	Size       int      `json:"nodes"` // all, static ones included
	Active     int      `json:"active_requests"`
	JobLease   bool     `json:"lease_follows_time_limit"` // use_job_duration
	Margin     Seconds  `json:"lease_margin_seconds"`     // job_duration_margin
	// ByJob means that a job gets all of its nodes at once, or none.
	ByJob bool `json:"all_nodes_at_once"`
	// Pends means that jobs wait PENDING for their machines, and not CONFIGURING.
	Pends bool `json:"jobs_wait_pending"`
	// Requeues is how long before the lease end running jobs are requeued; 0: never.
	Requeues Seconds      `json:"requeues_before_lease_end_seconds"`
	Block    *scene.Block `json:"blocked,omitempty"` // present while nothing is requested
	States   []Nodes      `json:"states"`

	Alternatives []Alternative `json:"alternatives"` // other partitions for the nodeset's jobs
}

// Price is the price of a nodeset's machines.
type Price struct {
	Hour     float64 `json:"machine_hour"` // 0 or more
	Currency string  `json:"currency"`
}

// Alternative is a partition that is up, shares no nodes with a nodeset, and has only flex-start
// nodes of the same machine type.
type Alternative struct {
	Partition string `json:"partition"`
	Size      int    `json:"nodes"` // most of a job
	// Longest is the time limit that every lease in the partition covers, or Slurm's MaxTime if
	// lower.
	Longest Seconds `json:"longest_job_seconds"`
}

// Nodes are the nodes of a nodeset with the same state in Slurm.
type Nodes struct {
	Nodes  Hostlist `json:"nodes"` // hostlist
	Count  int      `json:"count"`
	Static bool     `json:"static"`
	State  string   `json:"state"`       // powered down, powering up, powering down, in use, idle, down, drained, draining, failing, not responding or not understood
	Slurm  string   `json:"slurm_state"` // the same in Slurm's words
	// Slurm's reason for down, drained or powered-down nodes
	Reason   string `json:"reason,omitempty"`
	ReasonBy string `json:"reason_by,omitempty"` // who set the reason
}

// Row is a set of nodes that wait together, or nodes with similar machines.
type Row struct {
	NodeSet string `json:"nodeset"` // empty for orphaned machines of no nodeset
	// Jobs are the raw ids of the jobs that hold the nodes, most important first.
	Jobs    []uint32 `json:"jobs"`
	ShownAs []string `json:"shown_as"` // the same jobs as squeue shows them
	Users   []string `json:"users"`    // owners of the jobs; empty if Slurm hides jobs
	Nodes   Hostlist `json:"nodes"`    // hostlist
	Count   int      `json:"count"`
	Static  bool     `json:"static"`
	State   State    `json:"state"` // as in the table of docs/reference.md

	Region  string  `json:"region"`
	Zone    string  `json:"zone,omitempty"`
	Group   string  `json:"group,omitempty"`   // managed instance group
	Request string  `json:"request,omitempty"` // live resize request in the group
	Lease   Seconds `json:"lease_seconds,omitempty"`

	RequestedAt time.Time `json:"requested_at,omitzero"` // creation of the live request

	// begins means, for pending jobs, that NextAt is the earliest start that Slurm allows, not the
	// expected start.
	begins bool
	// release are the jobs' numbers for scontrol release, if slurmflex has held them.
	release []string

	// KnownAt is the time of the cloud data, if the region could not be read since.
	KnownAt time.Time `json:"last_known_at,omitzero"`
	// Since is the start of the wait, or the creation of the machines.
	Since  time.Time `json:"since,omitzero"`
	EndsAt time.Time `json:"ends_at,omitzero"` // lease end, or start of maintenance
	// Maintain is the start of host maintenance, if that is before the lease end.
	Maintain time.Time `json:"maintenance_at,omitzero"`
	// KeptTo is when the first idle machine is powered down unless a job takes it.
	KeptTo time.Time `json:"kept_until,omitzero"`
	// Obstacle is why nothing is requested now, why the request is being cancelled, why a
	// queued request would not start its job, or what happened to lost machines.
	Obstacle string    `json:"obstacle,omitempty"`
	Failed   int       `json:"failed_attempts,omitzero"` // consecutive failures
	NextAt   time.Time `json:"next_attempt_at,omitzero"`

	// FailingSince is the time of the first failed call, if calls are repeated in every pass.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// RetryEvery is the average time between two of these calls.
	RetryEvery Seconds `json:"retry_interval_seconds,omitzero"`

	GiveUpAt time.Time      `json:"gives_up_at,omitzero"`  // when the wait or the boot reaches its limit; absent while the clock of provision_timeout is stopped
	GiveUpBy demand.Limiter `json:"gives_up_by,omitempty"` // that limit: provision_timeout, slurmflex:wait, --deadline or boot_timeout
	Then     action.Then    `json:"then,omitempty"`        // what happens then
	Estimate *Estimate      `json:"estimate,omitempty"`    // of the wait, if the history suffices
	Cause    mig.Cause      `json:"cause,omitempty"`       // of the last error, as in the metrics
	Brief    string         `json:"brief,omitempty"`       // the last error in a few words
	Quota    mig.UsedUp     `json:"quota,omitzero"`        // exhausted quota, if Google named it
	Error    string         `json:"error,omitempty"`       // Google's last error message
}

// State is the state of a row's nodes.
type State string

// These are the states of rows.
const (
	Requesting State = "requesting" // the request is being created, or Compute is checking it
	Queued     State = "queued"     // the request waits for capacity
	Waiting    State = "waiting"    // nothing is requested; Obstacle explains why
	Returning  State = "returning"  // being returned to Slurm, with their job
	Pending    State = "pending"    // the jobs are without nodes; only in the table
	Cancelling State = "cancelling" // no job needs the request any more
	Lost       State = "lost"       // a job has lost its machines; Obstacle explains why
	Booting    State = "booting"    // the machines exist but have not registered with Slurm
	Starting   State = "starting"   // the machines are up, but the job has not started
	Running    State = "running"    // a job runs on them
	Idle       State = "idle"
	Down       State = "down" // Slurm does not use them: down, drained, or not responding
	Deleting   State = "deleting"
	Orphaned   State = "orphaned" // the cluster's machines without a node
)

// Waits reports whether the row's nodes lack machines.
func (r Row) Waits() bool {
	return r.State == Requesting || r.State == Queued || r.State == Waiting || r.State == Returning
}

// Group is one of the cluster's managed instance groups.
type Group struct {
	Name      string    `json:"group"`
	Region    string    `json:"region"`
	NodeSet   string    `json:"nodeset"`
	Job       uint32    `json:"job,omitzero"`   // job for which the group was created
	Array     uint32    `json:"array,omitzero"` // array with tasks that share the group
	User      string    `json:"user,omitempty"` // user whose one-node jobs share the group; once these jobs have left, 10 hexadecimal digits that stand for the user
	Node      string    `json:"node,omitempty"` // only node for which the group was created
	CreatedAt time.Time `json:"created_at,omitzero"`
	Instances string    `json:"instances"` // hostlist
	Requests  []Request `json:"requests"`  // oldest first
}

// Request is a resize request.
type Request struct {
	Name string `json:"request"`
	// State is in the API's words: CREATING, ACCEPTED, SUCCEEDED, FAILED, CANCELLED.
	State     mig.RequestState `json:"state"`
	Nodes     string           `json:"nodes"` // hostlist
	Count     int              `json:"count"`
	Lease     Seconds          `json:"lease_seconds"`
	CreatedAt time.Time        `json:"created_at,omitzero"`
	Cause     mig.Cause        `json:"cause,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// Job is a job in Slurm's queue.
type Job struct {
	ID        uint32         `json:"job"`                  // raw id
	ArrayID   uint32         `json:"array,omitzero"`       // raw id of the array, if the job is a task
	ArrayTask string         `json:"array_task,omitempty"` // its index, or the indexes that Slurm has not split off
	HetID     uint32         `json:"het,omitzero"`         // raw id of a heterogeneous job's first component
	HetOffset uint32         `json:"het_offset,omitzero"`  // the component's index; absent: 0
	User      string         `json:"user,omitempty"`
	Partition string         `json:"partition"`        // several are joined by commas
	State     slurm.JobState `json:"state"`            // Slurm's word
	Reason    string         `json:"reason,omitempty"` // why it is pending, in Slurm's words
	// Obstacle is why no machines are requested while the job is pending.
	Obstacle string `json:"obstacle,omitempty"`
	// FreesAt is when the first job ends at the latest that has nodes which the job lacks.
	FreesAt time.Time `json:"first_end_at,omitzero"`
	// NextAt is when machines are requested again, if known.
	NextAt time.Time `json:"next_attempt_at,omitzero"`
	Nodes  Hostlist  `json:"nodes"` // hostlist
	// Awaits is a hostlist of the nodes with machines requested while the job is pending.
	Awaits string `json:"awaits,omitempty"`
	// Places is the number of partitions with requests for the job, which starts in the first one with
	// all machines registered.
	Places int `json:"places,omitempty"`
	// Ahead has, for each nodeset where the job waits, what waits ahead for its machine type and region.
	Ahead []plan.Ahead `json:"ahead,omitempty"`
	// NodeCount is the number of nodes that the job has, or its minimum while it is pending.
	NodeCount int `json:"node_count,omitzero"`
	// GPUs are those requested by --gres or --gpus-per-node.
	GPUs int `json:"gpus_per_node,omitzero"`
	// Unused is the number of GPUs per node that the job does not request, if it gets whole nodes.
	Unused  int       `json:"unused_gpus_per_node,omitzero"`
	StartAt time.Time `json:"start_at,omitzero"`            // actual or expected start; absent for a held job, or if Slurm expects it after the end of a lease or in more than 30 days
	Limit   Seconds   `json:"time_limit_seconds,omitempty"` // absent: none, or unknown
	Told    string    `json:"admin_comment,omitempty"`      // its AdminComment from slurmflex
}

// Skipped is an unreadable row of Slurm's output.
type Skipped struct {
	Kind  string `json:"kind"`           // job, node, reservation or partition
	Name  string `json:"name,omitempty"` // or a job's raw id; absent if unreadable
	Error string `json:"error"`
}

// NodeSet returns the nodeset of that name.
func (v View) NodeSet(name string) (NodeSet, bool) {
	return first(v.NodeSets, func(s NodeSet) bool { return s.Name == name })
}

// region returns the region of that name; the zero value if it is unknown.
func (v View) region(name string) Region {
	r, _ := first(v.Regions, func(r Region) bool { return r.Name == name })
	return r
}

// Unread reports whether some region could not be read, so that things missing from the view may
// exist.
func (v View) Unread() bool {
	return v.butUnread() != ""
}

// Seconds is a duration that is a number of seconds in JSON.
type Seconds time.Duration

// MarshalJSON writes seconds, with a fraction if needed.
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
