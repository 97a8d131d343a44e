package demand

import (
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Wait describes what a set of nodes without machines waits for. The nodes must arrive together. It
// is built once in a pass, after the verdicts. The AdminComment, the nodes' Comment, and every row,
// story and page only render it.
type Wait struct {
	// The job that waits for the nodes; 0 for a static node, or for one powered up by hand.
	Job     uint32
	NodeSet string
	Region  string
	Group   string        // their managed instance group, which may not exist yet
	Nodes   []string      // the nodes without a machine
	Lease   time.Duration // the lease that is or will be requested

	Stage     stage
	Request   string    // the live request for the nodes; empty: none
	Requested time.Time // when that request was created
	Since     time.Time // when the nodes started to wait; zero if unknown

	// Why nothing is requested now, or why the nodes are returned; empty: nothing prevents a
	// request.
	Obstacle string
	Barred   bool          // the job lacks more than nodes, so slurmflex requests none for it
	Hidden   bool          // Slurm does not show the obstacle, so the AdminComment of a job of Plan.Held does
	Frees    time.Time     // when the first job that has nodes which this one lacks ends at the latest; zero: unknown
	Failed   int           // consecutive failed attempts, if they are the obstacle
	Next     time.Time     // after a failed attempt: when the next one will be made
	Failing  scene.Failing // if Failed counts calls that every pass repeats

	mig.Trouble // why the last attempt, or the current request so far, has created no machines

	Until time.Time   // when the wait ends or the job is lost; zero: never
	Then  action.Then // what happens to the job then, or now if it loses its nodes
	By    Limiter     // the limit that ends the wait
}

// stage is the progress of a wait.
type stage string

// The stages.
const (
	Requesting stage = "requesting" // the request is being created, or Compute is checking it
	Queued     stage = "queued"     // the request waits for capacity
	Waiting    stage = "waiting"    // nothing is requested; Obstacle explains why
	Returning  stage = "returning"  // their job loses the nodes in this pass
)

// Limiter is the limit that ends a wait, by the name that its setter knows.
type Limiter string

// The limits.
const (
	ByTimeout  Limiter = "provision_timeout" // the nodeset's
	ByComment  Limiter = "slurmflex:wait"    // in the job's --comment
	ByDeadline Limiter = "--deadline"        // the job's
)

// stuckAfter is how long a job may wait without a request and without a reason for having none.
// Slurm's backfill, which starts jobs on idle machines, may take several of its intervals of 30 s.
const stuckAfter = 5 * time.Minute

// IsStuck reports whether a job of Plan.Held has waited too long.
func (w Wait) IsStuck(now time.Time) bool {
	return !w.Since.IsZero() && now.Sub(w.Since) >= stuckAfter
}
