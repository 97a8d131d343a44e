// Package rules decides on each claim: one verdict, by the first rule of a table that decides. It
// then decides per job, and hands out the places under max_active_requests in turn.
package rules

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
)

// Ruling is the decision of one rule on a claim.
type Ruling struct {
	Do       deed
	Why      string              // the obstacle to a request, or the reason why the wait ends
	Unread   bool                // something that concerns the claim could not be read
	Quiet    bool                // Why is already under way, so the job's owner is not notified
	Failed   int                 // consecutive failed attempts, if they are the reason
	Next     time.Time           // after a failed attempt: when the next one will be made
	Return   *action.ReturnNodes // the nodes to return
	pending  bool                // the request is being created
	atDoor   bool                // the claim gets a request once Slurm shows that its job uses its door
	UnderWay bool                // all machines exist, are requested, or are being requested

	Soon     bool // what the claim waits for will change soon without an action of ours
	Problems scene.Problems
}

// Verdict is the decision on a claim in this pass, and the reason: the ruling of the first rule that
// decides, as far as its job and its turn allow.
type Verdict struct {
	Ruling
	Claim *demand.Claim
	rule  int // the index of the deciding rule

	Gone   bool            // the job loses its nodes in this pass
	With   []*demand.Claim // other claims that its request also serves
	Joins  bool            // an earlier verdict's request also serves this claim
	Yields *scene.Live     // its live request, which yields its queue position

	Failing         scene.Failing // how the claim's calls fail
	Queued, Lacking demand.Wait   // its waits: the nodes that its live request names, and the others
}

// deed is what slurmflex does for a claim.
type deed uint8

// The deeds, from the one that changes least.
const (
	Unsaid     deed = iota // the rule does not apply
	Noted                  // the rule adds a note, and the next rules decide
	Waits                  // do nothing for now
	Requests               // request its missing nodes
	Returns                // return its job's nodes to Slurm
	PowersDown             // power down its nodes, which lack a job
)

// rule is one reason not to request a claim's nodes. It is a pure function of the scene and the
// claim.
type rule struct {
	judge func(w *demand.Wanted, c *demand.Claim) Ruling
	bar   bar
}

// bar is the effect of a rule's verdict on a request; see MayAskIn.
type bar uint8

// The bars, weakest first.
const (
	BarsNothing bar = iota // the rule prevents no request
	Refuses                // Compute refused the request, or would: the timers run until the back-off ends
	Obstructs              // the request waits for something else: without a live one, the timers pause
)

// rules apply in this order. The first rule that does more than add a note decides. If none
// applies, slurmflex requests the nodes.
var rules = []rule{
	{bootLate, BarsNothing},             // boot_timeout
	{waitedTooLong, BarsNothing},        // provision_timeout, slurmflex:wait, --deadline
	{incompleteAllocation, BarsNothing}, // gang_timeout
	{leaseTooShort, Obstructs},
	{regionUnread, Obstructs},
	{recordUnread, Obstructs},
	{nameTaken, Refuses},
	{nothingMissing, BarsNothing},
	{doorFirst, Obstructs},
	{beingRequested, BarsNothing},
	{nodesetBlocked, Obstructs},
	{badTemplate, Obstructs},
	{cannotPlace, Obstructs},
	{backOff, Refuses},
	{overLimit, Obstructs},
	{componentsFirst, Obstructs},
}

// Judge returns the verdict on each claim. Before that it withdraws the requests that an admin cancels, and
// notes what the rules need to know of all claims. The first rule that applies decides on each claim; then a job loses its nodes as a whole, and places under max_active_requests are
// handed out by rank.
func Judge(w *demand.Wanted) []Verdict {
	withdrawBlocked(w)
	for _, c := range w.Claims {
		c.Asked = countAsked(w, c)
	}
	noteIncomplete(w)
	verdicts := make([]Verdict, len(w.Claims))
	for i, c := range w.Claims {
		verdicts[i] = verdictOn(w, c)
	}
	perJob(w, verdicts)
	inTurn(w, verdicts)
	return verdicts
}

// verdictOn returns the decision of the first rule that decides on the claim, with the notes of the
// rules before it.
func verdictOn(w *demand.Wanted, c *demand.Claim) Verdict {
	said := Ruling{Do: Requests}
	for i, r := range rules {
		switch v := r.judge(w, c); v.Do {
		case Unsaid:
		case Noted:
			said.Why, said.Quiet = v.Why, v.Quiet
			said.Soon, said.Problems = said.Soon || v.Soon, append(said.Problems, v.Problems...)
		default:
			if v.Why == "" {
				v.Why, v.Quiet = said.Why, said.Quiet
			}
			v.Soon, v.Problems = said.Soon || v.Soon, append(said.Problems, v.Problems...)
			return Verdict{Ruling: v, Claim: c, rule: i}
		}
	}
	return Verdict{Ruling: said, Claim: c, rule: len(rules)}
}

// allocation identifies the nodes that a job leaves together: the nodes behind one of its doors, or
// all of its nodes if it is without a door.
type allocation struct {
	job  uint32
	door string
}

// perJob extends a decision to return nodes to the whole allocation, with the reason that comes
// first in the rules. The job's other claims get no requests. A job is held or cancelled only if
// that is the verdict at each of its doors, and then loses all of them. While it is unknown whether
// Slurm would requeue the job, the job keeps its nodes and its other claims proceed. Of jobs that
// share a node, only one returns nodes in a pass: Slurm requeues the others, and their verdicts
// follow when they wait again.
func perJob(w *demand.Wanted, verdicts []Verdict) {
	first := map[allocation]int{} // the deciding verdict
	keepHope(verdicts)
	for i, v := range verdicts {
		if v.Do != Returns {
			continue
		}
		from := allocation{v.Return.Job, v.Return.Door}
		if v.Return.Then != action.Requeue {
			from.door = ""
		}
		if known, ok := first[from]; !ok || v.rule < verdicts[known].rule {
			first[from] = i
		}
	}
	taken := map[string]uint32{}
	for _, i := range slices.Sorted(maps.Values(first)) {
		v := &verdicts[i]
		v.needRecords(w)
		v.oncePerNode(taken)
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Claim.Job == nil {
			continue
		}
		decides, decided := first[allocation{job: v.Claim.Job.ID}]
		if d := v.Claim.Door; d != nil && !decided {
			decides, decided = first[allocation{v.Claim.Job.ID, d.Name}]
		}
		v.Gone = decided && verdicts[decides].Do == Returns
		switch {
		case !decided || decides == i:
		case v.Gone && v.Do >= Requests:
			v.Do, v.Why = Waits, ""
		case v.Do == Returns:
			v.Do, v.Quiet = Waits, true
		}
	}
}

// keepHope keeps a job waiting that one of its doors would hold or cancel, as long as it may get
// machines at another door.
func keepHope(verdicts []Verdict) {
	ends := map[string]bool{} // by door
	isEnd := func(v *Verdict) bool {
		return v.Do == Returns && v.Return.Door != "" && v.Return.Then != action.Requeue
	}
	for i := range verdicts {
		if v := &verdicts[i]; isEnd(v) {
			ends[v.Return.Door] = true
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		if isEnd(v) && slices.ContainsFunc(v.Claim.Door.Rivals, func(d *scene.Door) bool { return !ends[d.Name] }) {
			v.Do, v.Return = Waits, nil
		}
	}
}

// Obstacle returns the obstacle that the job's owner should know about; empty if the owner need not
// know of any.
func (v Verdict) Obstacle() string {
	if v.Quiet || v.Do == Returns || v.Do == PowersDown {
		return ""
	}
	return v.Why
}
