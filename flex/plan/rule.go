package plan

import (
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
)

// verdict is the decision on a cohort in this pass, and the reason.
type verdict struct {
	cohort *demand.Cohort
	do     deed
	rule   int // the index of the deciding rule

	why      string              // the obstacle to a request, or the reason why the wait ends
	quiet    bool                // why is already under way, so the job's owner is not notified
	failed   int                 // consecutive failed attempts, if they are the reason
	next     time.Time           // when the next attempt will be made
	back     *action.ReturnNodes // the nodes to return
	pending  bool                // the request is being created
	failing  scene.Failing       // how the cohort's calls fail
	underWay bool                // all machines exist, are requested, or are being requested
	gone     bool                // the job loses its nodes in this pass
	with     []*demand.Cohort    // other cohorts that its request also serves
	joins    bool                // an earlier verdict's request also serves this cohort
	yields   *scene.Live         // its live request, which yields its queue position

	queued, lacking demand.Wait // its waits: the nodes that its live request names, and the others

	expect   []string
	problems []scene.Problem
}

// deed is what slurmflex does for a cohort.
type deed uint8

const (
	unsaid     deed = iota // the rule does not apply
	noted                  // the rule adds a note, and the next rules decide
	waits                  // do nothing for now
	requests               // request its missing nodes
	goesBack               // return its job's nodes to Slurm
	powersDown             // power down its nodes, which lack a job
)

// rule is one reason not to request a cohort's nodes. It is a pure function of the scene and the
// cohort.
type rule struct {
	name  string
	judge func(w *demand.Wanted, c *demand.Cohort) verdict
	bar   bar
}

// bar is the effect of a rule's verdict on a request; see mayAsk.
type bar uint8

const (
	barsNothing bar = iota
	refuses         // Compute refused the request, or would refuse it: the timers run
	obstructs       // the request waits for something else: the timers pause
)

// rules apply in this order. The first rule that does more than add a note decides. If none
// applies, slurmflex requests the nodes.
var rules = []rule{
	{"boot_timeout", bootLate, barsNothing},
	{"provision_timeout", waitedTooLong, barsNothing},
	{"gang_timeout", gangTorn, barsNothing},
	{"lease too short", leaseTooShort, obstructs},
	{"region unread", regionUnread, obstructs},
	{"record unread", recordUnread, obstructs},
	{"name taken by an instance", nameTaken, refuses},
	{"nothing missing", nothingMissing, barsNothing},
	{"request under way", beingRequested, barsNothing},
	{"nodeset blocked", nodesetBlocked, obstructs},
	{"template", badTemplate, obstructs},
	{"placement", cannotPlace, obstructs},
	{"back-off", backOff, refuses},
	{"other components first", componentsFirst, obstructs},
}

// judge returns the verdict on each cohort: the decision of the first rule that decides, with the
// notes of the rules before it. Before that it withdraws the request that refresh_after replaces,
// and notes what the rules need to know of all cohorts.
func judge(w *demand.Wanted) []verdict {
	refreshOldest(w)
	for _, c := range w.Cohorts {
		c.Asked = countAsked(w, c)
	}
	noteTorn(w)
	verdicts := make([]verdict, len(w.Cohorts))
	for i, c := range w.Cohorts {
		verdicts[i] = verdictOn(w, c)
	}
	return verdicts
}

func verdictOn(w *demand.Wanted, c *demand.Cohort) verdict {
	said := verdict{do: requests, rule: len(rules)}
	for i, r := range rules {
		switch v := r.judge(w, c); v.do {
		case unsaid:
		case noted:
			said.why, said.quiet = v.why, v.quiet
			said.expect, said.problems = append(said.expect, v.expect...), append(said.problems, v.problems...)
		default:
			v.cohort, v.rule = c, i
			if v.why == "" {
				v.why, v.quiet = said.why, said.quiet
			}
			v.expect, v.problems = append(said.expect, v.expect...), append(said.problems, v.problems...)
			return v
		}
	}
	said.cohort = c
	return said
}

// allocation identifies the nodes that a job leaves together: the nodes behind one of its doors, or
// all of its nodes if it is without a door.
type allocation struct {
	job  uint32
	door string
}

// perJob extends a decision to return nodes to the whole allocation, with the reason that comes
// first in the rules. The job's other cohorts get no requests. A job is held or cancelled only if
// that is the verdict at each of its doors, and then loses all of them. While it is unknown whether
// Slurm would requeue the job, the job keeps its nodes and its other cohorts proceed.
func perJob(w *demand.Wanted, verdicts []verdict) []verdict {
	first := map[allocation]int{} // the deciding verdict
	keepHope(verdicts)
	for i, v := range verdicts {
		if v.do != goesBack {
			continue
		}
		from := allocation{v.back.Job, v.back.Door}
		if v.back.Then != action.Requeue {
			from.door = ""
		}
		if known, ok := first[from]; !ok || v.rule < verdicts[known].rule {
			first[from] = i
		}
	}
	for _, i := range first {
		verdicts[i].needRecords(w)
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.cohort.Job == nil {
			continue
		}
		decides, decided := first[allocation{job: v.cohort.Job.ID}]
		if d := v.cohort.Door; d != nil && !decided {
			decides, decided = first[allocation{v.cohort.Job.ID, d.Name}]
		}
		v.gone = decided && verdicts[decides].do == goesBack
		switch {
		case !decided || decides == i:
		case v.gone && v.do >= requests:
			v.do, v.why = waits, ""
		case v.do == goesBack:
			v.do, v.quiet = waits, true
		}
	}
	return verdicts
}

// keepHope keeps a job waiting that one of its doors would hold or cancel, as long as it may get
// machines at another door.
func keepHope(verdicts []verdict) {
	ends := map[string]bool{} // by door
	isEnd := func(v *verdict) bool { return v.do == goesBack && v.back.Door != "" && v.back.Then != action.Requeue }
	for i := range verdicts {
		if v := &verdicts[i]; isEnd(v) {
			ends[v.back.Door] = true
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		if isEnd(v) && slices.ContainsFunc(v.cohort.Door.Rivals, func(d *scene.Door) bool { return !ends[d.Name] }) {
			v.do, v.back = waits, nil
		}
	}
}

// obstacle returns the obstacle that the job's owner should know about; empty if the owner need not
// know of any.
func (v verdict) obstacle() string {
	if v.quiet || v.do == goesBack || v.do == powersDown {
		return ""
	}
	return v.why
}
