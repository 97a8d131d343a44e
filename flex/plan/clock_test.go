package plan

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// askedFor sets the count that earlier passes recorded for job 7, up to now.
func askedFor(long time.Duration) part {
	return func(s *setting) {
		s.Asked = map[string]scene.Asked{"alpha-a3-job-7": {Job: 7, For: long, At: s.Now, Runs: true}}
	}
}

// returned lists the actions that take a job off its nodes.
func returned(p Plan) []string { return those(p, is[action.ReturnNodes]) }

// obstacles returns parts that each keep slurmflex from requesting machines for job 7.
func obstacles() map[string]part {
	others := and(component(7, 0), awaits(8, "alpha-fix-0"), component(7, 1))
	return map[string]part{
		"its turn":           and(awaits(6, "alpha-a3-5"), groupOf(6, accepted("alpha-a3-5"))),
		"a blocked nodeset":  and(nodes("alpha-a3-4", poweredDown), extra("alpha-a3-4", memo.Boots{Failed: 1, Last: noon.Add(-time.Minute)}.String())),
		"an admin's block":   and(nodes("alpha-a3-4", poweredDown), extra("alpha-a3-4", memo.Block{At: noon}.String())),
		"an unread region":   unseen("us-central1"),
		"an unread template": func(s *setting) { s.Templates = map[string]scene.Template{} },
		"a failing template": func(s *setting) {
			s.Templates = map[string]scene.Template{"projects/demo/global/instanceTemplates/a3": {Err: errors.New("503")}}
		},
		"the other components": others,
	}
}

// G1
func TestTimersPauseWhileNothingIsRequested(t *testing.T) {
	for name, obstacle := range obstacles() {
		t.Run(name, func(t *testing.T) {
			cfg := with("provision_timeout: 3600, on_provision_timeout: cancel, boot_failures: 1")
			cfg.Options.MaxActiveRequests = 1
			p := planOf(cfg, seen(awaits(7, "alpha-a3-0"), started(7, 3*time.Hour), obstacle))
			assert.Empty(t, returned(p))
			for _, w := range p.Waits {
				assert.True(t, w.Job != 7 || w.Until.IsZero(), "%+v", w)
			}
		})
	}
}

// G1: a static node that is powered down must be requested again.
func TestStaticNodeKeepsMachineThatCouldNotBeReplaced(t *testing.T) {
	renewed := func(more ...part) bool {
		p := planOf(with("renew_before: 3600, boot_failures: 1"), seen(nodes("alpha-one-0", "IDLE+CLOUD"), nodeGroup(0),
			leased("alpha-one-0", "alpha-one-node-0", time.Hour, 30*time.Minute), and(more...)))

		return slices.ContainsFunc(actions(p), func(a string) bool { return strings.Contains(a, "alpha-one-0 power_down") })
	}
	assert.True(t, renewed())
	assert.False(t, renewed(nodes("alpha-one-5", poweredDown), extra("alpha-one-5", memo.Boots{Failed: 1, Last: noon.Add(-time.Minute)}.String())), "blocked")
	assert.False(t, renewed(func(s *setting) { s.Templates = map[string]scene.Template{} }), "template unread")
	assert.False(t, renewed(refused("alpha-one-node-0", mig.CauseQuota, time.Second, 1)), "refused")
}

func TestFreePlacesLimitRenewals(t *testing.T) {
	cfg := with("renew_before: 3600")
	cfg.Options.MaxActiveRequests = 1
	due := func(list string) part {
		var all []part
		for _, name := range names(list) {
			group := strings.Replace(name, "alpha-one-", "alpha-one-node-", 1)
			all = append(all, nodes(name, "IDLE+CLOUD"), nodeGroup(int(name[len(name)-1]-'0')), leased(name, group, time.Hour, 30*time.Minute),
				reserved("slurmflex-alpha-"+strconv.FormatInt(noon.Add(30*time.Minute).Unix(), 10), list, noon.Add(30*time.Minute)))
		}
		return and(all...)
	}
	in := situations(t, cfg)
	in("one at a time", seen(due("alpha-one-[0-1]")), "set nodes alpha-one-0 power_down")
	in("the next when that one's request has been served", seen(due("alpha-one-1"), nodes("alpha-one-0", poweringDown), unseen("us-central1"),
		vms("alpha-one-0", "alpha-one-node-0", "STOPPING")))
	in("or when that one is resumed", seen(due("alpha-one-1"), nodes("alpha-one-0", poweringDown)), "set nodes alpha-one-0 resume")
	cfg.Options.MaxActiveRequests = 5
	in("all where there are places", seen(due("alpha-one-[0-1]")), "set nodes alpha-one-[0-1] power_down")
	cfg.Options.MaxActiveRequests = 1
	in("a drained one takes no place", seen(due("alpha-one-1"), because("alpha-one-0", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "burnt")), "set nodes alpha-one-1 power_down")
	in("nor does one under maintenance", seen(due("alpha-one-1"), nodes("alpha-one-0", "IDLE+CLOUD+MAINTENANCE+POWERED_DOWN"),
		reserved("adm", "alpha-one-0", noon.Add(-time.Hour)), func(s *setting) { s.Reservations[len(s.Reservations)-1].Flags = []string{"MAINT"} }),
		"set nodes alpha-one-1 power_down")
}

// G1
func TestOwnersWaitLimitCountsFromTheAllocation(t *testing.T) {
	given := func(then string, more ...part) []string {
		cfg := with("provision_timeout: 7200, boot_failures: 1, on_provision_timeout: " + then)
		cfg.Options.MaxActiveRequests = 1
		return returned(planOf(cfg, seen(awaits(7, "alpha-a3-0"), started(7, time.Hour), and(more...), ownLimits(slurm.JobRecord{Comment: "slurmflex:wait=1h"}))))
	}
	for _, name := range []string{"its turn", "a blocked nodeset"} {
		assert.Equal(t, []string{"return alpha-a3-0 to Slurm and hold job 7: no machines for 1 × a3-machine in 1h00m (slurmflex:wait 01:00:00)"},
			given("hold", obstacles()[name]), name)
	}
	live := func(ago time.Duration) part { return and(queued("alpha-a3-0", ago)) }
	assert.Equal(t, []string{"return alpha-a3-0 to Slurm and cancel job 7: no capacity for 1 × a3-machine in 1h00m (slurmflex:wait 01:00:00)"},
		given("cancel", live(time.Hour)))
	assert.Equal(t, []string{"return alpha-a3-0 to Slurm and cancel job 7: no machines for 1 × a3-machine in 1h00m (slurmflex:wait 01:00:00)"},
		given("cancel", live(time.Minute*10)), "its turn came late")
	assert.Empty(t, given("cancel", unseen("us-central1")), "its machines may be there")
}

func TestEndOfWaitNamesCapacityOnlyIfCapacityLacked(t *testing.T) {
	given := func(limit slurm.JobRecord, parts ...part) []string {
		return returned(planOf(with("provision_timeout: 3600"), seen(awaits(7, "alpha-a3-0"), started(7, time.Hour), askedFor(time.Hour),
			and(parts...), ownLimits(limit))))
	}
	back := "return alpha-a3-0 to Slurm and requeue job 7: "
	assert.Equal(t, []string{back + "no capacity for 1 × a3-machine in 1h00m (provision_timeout 01:00:00); last attempt: a quota of the project is used up"},
		given(slurm.JobRecord{}, groupOf(7, failed("a1", "alpha-a3-0", mig.CauseQuota, time.Second))))
	assert.Equal(t, []string{back + "no machines for 1 × a3-machine in 1h00m (provision_timeout 01:00:00); last attempt: INVALID_ARGUMENT: no"},
		given(slurm.JobRecord{}, refused("alpha-a3-job-7", mig.CauseUnknown, time.Second, 1)))
	assert.Equal(t, []string{back + "no machines for 1 × a3-machine (--deadline 2026-11-21T12:00:00Z)"},
		given(slurm.JobRecord{Deadline: noon}, func(s *setting) { s.Asked = nil }))
}

// The count continues across requests and obstacles, but not across allocations of the job.
func TestTimerContinuesAcrossRequestsAndObstacles(t *testing.T) {
	cfg := with("provision_timeout: 36000, boot_failures: 1")
	var known map[string]scene.Asked
	pass := func(at time.Duration, more ...part) scene.Asked {
		s := seen(awaits(7, "alpha-a3-0"), started(7, 0), and(more...))
		s.Now, s.Asked = noon.Add(at), known
		known = planOf(cfg, s).Asked
		return known["alpha-a3-job-7"]
	}
	attempt := func(name string, state mig.RequestState, at time.Duration) part {
		return groupOf(7, mig.Request{Name: name, State: state, Instances: []string{"alpha-a3-0"}, Created: noon.Add(at), Trouble: mig.Trouble{Cause: mig.CauseCapacity}})
	}
	assert.Zero(t, pass(0), "it is only now requested")
	assert.Equal(t, 10*time.Minute, pass(15*time.Minute, attempt("a1", mig.Accepted, 5*time.Minute)).For)
	blocked := obstacles()["a blocked nodeset"]
	assert.Equal(t, scene.Asked{Job: 7, For: 10 * time.Minute, At: noon.Add(20 * time.Minute)}, pass(20*time.Minute, blocked))
	assert.Equal(t, 20*time.Minute, pass(80*time.Minute, attempt("a2", mig.Accepted, 70*time.Minute)).For)
	assert.Equal(t, 25*time.Minute, pass(85*time.Minute, attempt("a3", mig.Failed, 85*time.Minute)).For, "it is refused")
	assert.Equal(t, 25*time.Minute, pass(90*time.Minute, unseen("us-central1")).For)
	assert.Equal(t, 30*time.Minute, pass(100*time.Minute, attempt("a4", mig.Accepted, 95*time.Minute)).For)
	assert.Zero(t, pass(110*time.Minute, started(7, -105*time.Minute)), "the job got its nodes again")
}
