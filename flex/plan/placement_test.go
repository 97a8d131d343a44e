package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// placed returns alpha's configuration with placement of nodeset a3 within that distance.
func placed(distance string) *config.Config {
	const size = "node_count_dynamic_max: 3000, "
	return parsed(strings.Replace(alpha, size, size+"enable_placement: true, placement_max_distance: "+distance+", ", 1))
}

// machines sets the machine type in nodeset a3's template.
func machines(machineType string) part {
	return func(s *setting) {
		const link = "projects/demo/global/instanceTemplates/a3"
		t := s.Templates[link]
		t.MachineType = machineType
		s.Templates[link] = t
	}
}

func TestMachinesOfAJobArePlacedTogether(t *testing.T) {
	a4 := machines("a4-highgpu-8g")
	waiting := func(list string, more ...part) scene.Snapshot {
		return seen(append(more, awaits(7, list))...)
	}
	group7 := groupOf(7, succeeded("alpha-a3-0"))
	policy7 := policy("alpha-a3-job-7", forJob("a3", 7))
	in := situations(t, placed("2"))
	in("a policy comes before the group that names it", waiting("alpha-a3-[0-1]", a4),
		"create workload policy alpha-a3-job-7 in us-central1", "create group alpha-a3-job-7 in us-central1",
		"request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-7/a1 for 00:15:00")
	in("a policy that is there serves", waiting("alpha-a3-0", a4, policy7),
		"create group alpha-a3-job-7 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7/a1 for 00:15:00")
	in("a job of more nodes than a policy holds comes in parts, each with its own", waiting("alpha-a3-[0-150]", a4),
		"create workload policy alpha-a3-job-7 in us-central1", "create group alpha-a3-job-7 in us-central1",
		"request 150 nodes (alpha-a3-[0-149]) in alpha-a3-job-7/a1 for 00:15:00",
		"create workload policy alpha-a3-job-7-p1 in us-central1", "create group alpha-a3-job-7-p1 in us-central1",
		"request 1 node (alpha-a3-150) in alpha-a3-job-7-p1/a1 for 00:15:00")
	in("machines that cannot be placed are not asked for, and the fix is named", waiting("alpha-a3-0",
		machines("n2-standard-2")),
		"return alpha-a3-0 to Slurm and hold job 7: nodeset a3: enable_placement with placement_max_distance 2 "+"is not available for n2-standard-2; set it to false")
	in("a permanently rejected policy returns the nodes", waiting("alpha-a3-0", a4,
		refused("alpha-a3-job-7", mig.CausePermission, time.Second, 1)),
		"return alpha-a3-0 to Slurm and hold job 7: INVALID_ARGUMENT: no")
	in("a policy is kept as long as its group", seen(a4, runsOn(7, "alpha-a3-0"), group7, policy7,
		machinesOf(7, "alpha-a3-0")))
	in("and while its group is being deleted", seen(a4, nodes("alpha-a3-0", poweredDown), group7, policy7),
		"delete group alpha-a3-job-7")
	in("and is deleted after it", seen(a4, nodes("alpha-a3-0", poweredDown), policy7),
		"delete workload policy alpha-a3-job-7")
	in("another cluster's policy is kept", seen(a4, policy7, func(s *setting) { s.Policies[0].Stamp.Cluster = "beta" }))
	in("a policy is kept if its group could not be read", seen(a4, policy7, unseen("us-central1")))
}

func TestPolicyNamesTheDistanceAsComputeDoes(t *testing.T) {
	for distance, want := range map[string]string{"1": "SUBBLOCK", "2": "BLOCK", "3": "CLUSTER", "null": ""} {
		p := planOf(placed(distance), seen(machines("a4-highgpu-8g"), awaits(7, "alpha-a3-0")))
		require.Len(t, p.Actions, 3)
		made := p.Actions[0].(action.CreatePolicy)
		assert.Equal(t, want, made.Spec.Distance, "at placement_max_distance %s", distance)
		assert.Equal(t, made.Spec.Name, p.Actions[1].(action.CreateGroup).Spec.Policy)
		assert.Equal(t, action.About(made).Queue, action.About(p.Actions[1]).Queue, "the group waits for its policy")
	}
}

func TestWaitInPartsOutlastsItsTemplate(t *testing.T) {
	const link = "projects/demo/global/instanceTemplates/a3"
	part0 := groupOf(7, accepted("alpha-a3-[0-149]"))
	part1 := func(r mig.Request) part { return group("alpha-a3-job-7-p1", forJob("a3", 7), r) }
	waits := part1(accepted("alpha-a3-150"))
	unread := func(s *setting) {
		s.Templates[link] = scene.Template{Err: &mig.Error{Op: "read", Object: link, Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: "503"}}}
	}
	for name, more := range map[string][]part{
		"as it was":                       {machines("a4-highgpu-8g"), waits},
		"with another type of machine":    {machines("a3-ultragpu-8g"), waits},
		"unread, and another part failed": {unread, part1(failed("a1", "alpha-a3-150", mig.CauseCapacity, time.Hour))},
	} {
		t.Run(name, func(t *testing.T) {
			given := append([]part{
				awaits(7, "alpha-a3-[0-150]"), part0,
				policy("alpha-a3-job-7", forJob("a3", 7)), policy("alpha-a3-job-7-p1", forJob("a3", 7)),
			}, more...)
			assert.Empty(t, actions(planOf(placed("2"), seen(given...))))
		})
	}
}

func TestUnreadPoliciesBlockOnlyRequestsThatNeedThem(t *testing.T) {
	s := seen(awaits(7, "alpha-a3-0"), func(s *setting) {
		s.UnseenPolicies = map[string]error{"us-central1": errors.New("503")}
	})
	assert.Len(t, planned(s), 2, "a nodeset without placement")
	cfg := alphaCopy()
	cfg.NodeSets[slices.IndexFunc(cfg.NodeSets, func(n *config.NodeSet) bool { return n.Name == "a3" })].Placement = true
	assert.Empty(t, actions(planOf(cfg, s)))
}
