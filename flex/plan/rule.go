package plan

import (
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
)

// verdict says what becomes of a cohort in this pass, and why.
type verdict struct {
	cohort *cohort
	do     deed
	rule   int // the place in the rules of the one that decided

	why      string        // the obstacle to a request, or what ends the wait
	quiet    bool          // that is under way already, so that the job's owner need not know
	failed   int           // failed attempts in a row, if they are the reason
	next     time.Time     // when the next attempt is made
	back     *ReturnNodes  // what to return
	pending  bool          // the request is being made
	failing  scene.Failing // how the calls for it fail
	underWay bool          // all machines are there, requested or being requested
	gone     bool          // the job returns to Slurm in this pass
	with     []*cohort     // other cohorts that its request serves, too
	joins    bool          // an earlier verdict's request serves it, too
	yields   *scene.Live   // its request, which yields its place

	queued, lacking Wait // what its nodes wait for: those that its live request names, and the others

	expect   []string
	problems []scene.Problem
}

// deed is what is done for a cohort.
type deed uint8

const (
	unsaid     deed = iota // the rule has nothing to say
	noted                  // the rule has something to say, and the next ones decide
	waits                  // nothing for now
	requests               // its missing nodes are requested
	goesBack               // its job's nodes go back to Slurm
	powersDown             // its nodes, which no job waits for, go back to Slurm
)

// rule is one reason not to request a cohort's nodes. It is a pure function of what was
// seen and of the cohort.
type rule struct {
	name  string
	judge func(w *wanted, c *cohort) verdict
	bar   bar
}

// bar is the effect of a rule's verdict on a request; see mayAsk.
type bar uint8

const (
	barsNothing bar = iota
	refuses         // Compute refused it, or would: the clocks run
	obstructs       // the request waits for something else: the clocks stand still
)

// rules are asked in this order; the first that does more than note something decides.
// Where all are silent, the nodes are requested.
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

// judge gives each cohort its verdict: what the first rule says that decides, and what
// was noted before.
func judge(w *wanted) []verdict {
	verdicts := make([]verdict, len(w.cohorts))
	for i, c := range w.cohorts {
		verdicts[i] = w.verdict(c)
	}
	return verdicts
}

func (w *wanted) verdict(c *cohort) verdict {
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

// allocation is the nodes that a job leaves together: those behind one of its doors, or, without
// a door, all.
type allocation struct {
	job  uint32
	door string
}

// perJob returns an allocation as a whole, for the reason that comes first in the rules: nothing is
// requested for the job's other cohorts. A job is held or cancelled only if that is the verdict on
// each of its doors, and leaves all of them. A job keeps its nodes while it is unknown whether Slurm
// would requeue it, and its other cohorts go on.
func perJob(w *wanted, verdicts []verdict) []verdict {
	first := map[allocation]int{} // the verdict that decides
	keepHope(verdicts)
	for i, v := range verdicts {
		if v.do != goesBack {
			continue
		}
		from := allocation{v.back.Job, v.back.Door}
		if v.back.Then != Requeue {
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
		if v.cohort.job == nil {
			continue
		}
		decides, decided := first[allocation{job: v.cohort.job.ID}]
		if d := v.cohort.door; d != nil && !decided {
			decides, decided = first[allocation{v.cohort.job.ID, d.Name}]
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

// keepHope has a job wait that would be held or cancelled because of one of its doors, while it may
// get machines behind another.
func keepHope(verdicts []verdict) {
	ends := map[string]bool{} // by door
	isEnd := func(v *verdict) bool { return v.do == goesBack && v.back.Door != "" && v.back.Then != Requeue }
	for i := range verdicts {
		if v := &verdicts[i]; isEnd(v) {
			ends[v.back.Door] = true
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		if isEnd(v) && slices.ContainsFunc(v.cohort.door.Rivals, func(d *scene.Door) bool { return !ends[d.Name] }) {
			v.do, v.back = waits, nil
		}
	}
}

// obstacle is what is in the way and concerns the job's owner; empty if there is
// nothing of that kind.
func (v verdict) obstacle() string {
	if v.quiet || v.do == goesBack || v.do == powersDown {
		return ""
	}
	return v.why
}
