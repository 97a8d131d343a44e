package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// B2: what could not be read is not absent: nothing is done to it, nor to the nodes
// that it concerns, and it is named.
func TestWhatCannotBeReadIsLeftAlone(t *testing.T) {
	spoilt := func(s *setting) { s.Groups[len(s.Groups)-1].Unread = "description: it is no whole stamp" }
	unstamped := func(s *setting) { s.Groups[len(s.Groups)-1].Stamp = mig.Stamp{} }
	veiled := func(s *setting) { s.Instances[0].Unread = "status: it is missing" }
	const groupProblem = "group alpha-a3-job-7 in us-central1 is left alone, because it cannot be read: description: it is no whole stamp"
	const vmProblem = "instance alpha-a3-0 in us-central1-a is left alone, because it cannot be read: status: it is missing"
	waits := job(7, "train", "15:00", configured, "alpha-a3-[0-1]")
	theirs := group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-[0-1]", time.Hour))
	for name, c := range map[string]struct {
		seen    Snapshot
		problem string
	}{
		"a job's group, whose request serves it": {seen(nodes("alpha-a3-[0-1]", poweringUp), waits, theirs, spoilt), groupProblem},
		"a group whose stamp is not known":       {seen(nodes("alpha-a3-[0-1]", poweringUp), waits, theirs, spoilt, unstamped), groupProblem},
		"a group that another job had": {
			seen(nodes("alpha-a3-[0-1]", poweringUp), job(8, "train", "15:00", configured, "alpha-a3-[0-1]"), theirs, spoilt), groupProblem,
		},
		"an empty group": {seen(group("alpha-a3-job-7", forJob("a3", 7)), spoilt), groupProblem},
		"a group that has machines of nodes that are down": {
			seen(nodes("alpha-a3-0", poweredDown), group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-0", "alpha-a3-job-7", "RUNNING"), spoilt), groupProblem,
		},
		"a node that rises for nobody": {
			seen(nodes("alpha-a3-[0-1]", risingIdle), theirs, spoilt), groupProblem,
		},
		"a machine of a node that is down": {
			seen(nodes("alpha-a3-0", poweredDown), group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-0", "alpha-a3-job-7", ""), veiled), vmProblem,
		},
		"a machine of no node": {
			seen(group("alpha-a3-job-7", forJob("a3", 7)), vms("alpha-a3-0", "alpha-a3-job-7", ""), veiled), vmProblem,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(alphaConfig(t), c.seen)
			for _, a := range p.Actions {
				switch a.(type) {
				case CommentJob:
				default:
					assert.Fail(t, "nothing is to be done", "%s", a)
				}
			}
			assert.Contains(t, p.Problems.Texts(), c.problem)
		})
	}
}
