package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

func TestSlurmGCPRemnantsAreRemoved(t *testing.T) {
	left := func(name string, requests ...mig.Request) mig.Group {
		return mig.Group{Name: name, Region: "us-central1", Created: noon.Add(-time.Hour), Requests: requests}
	}
	asks := left("alpha-a3-0a1b2c3d", request("initial-resize", mig.Accepted, "alpha-a3-0", time.Hour))
	in := func(name string, foreign mig.Group, given scene.Snapshot, want ...string) {
		t.Run(name, func(t *testing.T) {
			given.Foreign = []mig.Group{foreign}
			adopts := those(planOf(alphaConfig, given), func(a action.Action) bool { return strings.Contains(action.About(a).Text, foreign.Name) })
			assert.Equal(t, want, adopts)
		})
	}
	in("goes when it is empty", left("alpha-a3-job-7-0a1b2c3d"), seen(), "delete group alpha-a3-job-7-0a1b2c3d")
	in("loses a request for powered-down nodes", asks, seen(nodes("alpha-a3-0", poweredDown)),
		"cancel request alpha-a3-0a1b2c3d/initial-resize")
	in("keeps a request for a node that powers up", asks, seen(nodes("alpha-a3-0", poweringUp)))
	in("stays while it has an instance", left("alpha-a3-0a1b2c3d"), seen(runsOn(7, "alpha-a3-0"),
		vms("alpha-a3-0", "alpha-a3-0a1b2c3d", "RUNNING")))
	in("loses the instances of nodes that Slurm has powered down", left("alpha-a3-0a1b2c3d"),
		seen(nodes("alpha-a3-[0-1]", poweredDown), vms("alpha-a3-[0-1]", "alpha-a3-0a1b2c3d", "RUNNING"),
			nodes("alpha-a3-2", poweringDown), vms("alpha-a3-2", "alpha-a3-0a1b2c3d", "RUNNING"), nodes("alpha-a3-3",
				poweredDown), vms("alpha-a3-3", "alpha-a3-0a1b2c3d", "STOPPING"), nodes("alpha-a3-4", running),
			vms("alpha-a3-4", "alpha-a3-0a1b2c3d", "RUNNING"), nodes("alpha-a3-5", poweredDown), vms("alpha-a3-5",
				"alpha-a3-precious", "RUNNING")), "delete instances alpha-a3-2 of alpha-a3-0a1b2c3d", "delete instances alpha-a3-[0-1] of alpha-a3-0a1b2c3d")
	in("stays while a node in use could have its machine there unseen", left("alpha-a3-0a1b2c3d",
		request("initial-resize", mig.Succeeded, "alpha-a3-0", time.Hour)), seen(nodes("alpha-a3-0", running)))
	young, counts := left("alpha-a3-0a1b2c3d"), left("alpha-a3-0a1b2c3d")
	young.Created, counts.TargetSize = noon.Add(-29*time.Second), 1
	in("B6: stays while it is young", young, seen())
	in("B1: stays while it counts machines that do not show", counts, seen())
	in("is kept if its region could not be read", left("alpha-a3-0a1b2c3d"), seen(unseen("us-central1")))
}

// G2: gc deleted twice as many instances in a pass as allowed, and did not report that more
// remained.
func TestAdoptionSharesTheDeletionLimit(t *testing.T) {
	given := seen(nodes("alpha-a3-[0-3]", poweredDown), groupOf(7), machinesOf(7, "alpha-a3-[0-1]"),
		vms("alpha-a3-[2-3]", "alpha-a3-0a1b2c3d", "RUNNING"))
	given.Foreign = []mig.Group{{Name: "alpha-a3-0a1b2c3d", Region: "us-central1", Created: noon.Add(-time.Hour)}}
	cfg := alphaCopy()
	cfg.Options.MaxDeletions = 3
	p := planOf(cfg, given)
	deleted, why := 0, []string{}
	for _, a := range p.Actions {
		if a, ok := a.(action.DeleteInstances); ok {
			deleted, why = deleted+len(a.Instances), append(why, string(a.Why))
		}
	}
	assert.Equal(t, 3, deleted)
	assert.Equal(t, "slurm-gcp has left them, and their nodes are powered down", why[len(why)-1])
	assert.Contains(t, p.Problems.Texts(), "more instances must be deleted than max_deletions_per_pass allows; if slurmctld lost its state, restore its StateSaveLocation, otherwise wait: slurm-gcp has left them, and their nodes are powered down")
}

func TestGroupOfAnOlderConfigurationIsReplaced(t *testing.T) {
	const link = "projects/demo/global/instanceTemplates/a3"
	given := func(change func(*mig.Group), more ...part) scene.Snapshot {
		return seen(append(more, awaits(7, "alpha-a3-0"), started(7, time.Second),
			groupOf(7, failed("a1", "alpha-a3-0", mig.CauseConfig, time.Hour)),
			func(s *setting) {
				s.Groups[0].Template, s.Groups[0].Zones = "global/instanceTemplates/a3", []string{"us-central1-a"}
				change(&s.Groups[0])
				template := s.Templates[link]
				template.Link = link
				s.Templates[link] = template
			})...)
	}
	again := []string{"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00"}
	replaced := []string{"create group alpha-a3-job-7-r1 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7-r1/a1 for 00:15:00"}
	in := func(name string, change func(*mig.Group), want []string) {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, planned(given(change))) })
	}
	in("as it was", func(*mig.Group) {}, again)
	in("another template", func(g *mig.Group) { g.Template += "-old" }, replaced)
	in("other zones", func(g *mig.Group) { g.Zones = append(g.Zones, "us-central1-b") }, replaced)
	in("placed, and is not", func(g *mig.Group) { g.Policy = g.Name }, replaced)
	in("while it has a request", func(g *mig.Group) {
		g.Template, g.Requests = "old", append(g.Requests, request("a2", mig.Accepted, "alpha-a3-0", time.Hour))
	}, nil)
	in("an unreadable template", func(g *mig.Group) { g.Template, g.Zones = "", nil }, again)
}

// B8: if Slurm adds a longer job to a node with a waiting request, the jobs that already wait there
// keep the request.
func TestLongerJobOnTheSameNodeKeepsTheRequestOfAnother(t *testing.T) {
	hour := request("a1", mig.Accepted, "alpha-a3-0", time.Hour)
	cancels := func(more ...part) []string {
		return cancelled(alphaPlan(nodes("alpha-a3-0", risingMixed), and(more...)))
	}
	seven := job(7, "shared", "1:00:00", configured, "alpha-a3-0")
	ofSeven := groupOf(7, hour)
	assert.Empty(t, cancels(seven, job(8, "shared", "UNLIMITED", configured, "alpha-a3-0"), important(1000), ofSeven))
	assert.Equal(t, []string{"cancel request alpha-a3-job-8/a1"}, cancels(job(8, "shared", "12:00:00", configured, "alpha-a3-0"), seven,
		groupOf(8, hour, request("a2", mig.Accepted, "alpha-a3-0", 12*time.Hour))), "the request that is long enough for both stays")
	all := []string{"cancel request alpha-a3-job-7/a1"}
	assert.Equal(t, all, cancels(job(7, "shared", "1:01:00", configured, "alpha-a3-0"), ofSeven), "an admin gave the job itself more time")
	assert.Equal(t, all, cancels(job(8, "shared", "1:01:00", configured, "alpha-a3-0"), ofSeven), "no job needs it any more")
	static := and(nodes("alpha-one-0", risingMixed), job(8, "shared", "UNLIMITED", configured, "alpha-one-0"),
		nodeGroup(0, request("a1", mig.Accepted, "alpha-one-0", time.Hour)))
	assert.Empty(t, cancels(static), "a static node's request is not cancelled")
}

func cancelled(p Plan) []string { return those(p, is[action.CancelRequest]) }
