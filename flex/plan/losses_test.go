package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// missing makes two consecutive passes find no running machine of these nodes.
func missing(list string) part {
	return func(s *setting) {
		s.Missed = map[string]bool{}
		for _, name := range names(list) {
			s.Missed[name] = true
		}
	}
}

// maintained makes maintenance of the hosts of these nodes' machines start after the given time.
func maintained(list string, left time.Duration) part {
	return func(s *setting) {
		for i := range s.Instances {
			for _, name := range names(list) {
				if s.Instances[i].Name == name {
					s.Instances[i].Maintained = noon.Add(left)
				}
			}
		}
	}
}

// D13: a machine that is billed without a job is reported.
func TestRunningMachineOfADownNodeIsReported(t *testing.T) {
	const problem = "node alpha-a3-0 is DOWN, and its machine runs or is requested for no job: scontrol update nodename=alpha-a3-0 state=resume returns the node, " +
		"state=power_down deletes the machine"
	problems := func(parts ...part) []string {
		return alphaPlan(and(parts...), groupOf(7), machinesOf(7, "alpha-a3-0")).Problems.Texts()
	}
	assert.Equal(t, []string{problem}, problems(nodes("alpha-a3-0", "DOWN+CLOUD")))
	assert.Equal(t, []string{problem}, problems(nodes("alpha-a3-0", "DOWN+CLOUD+NOT_RESPONDING")))
	assert.Equal(t, []string{problem}, alphaPlan(nodes("alpha-a3-0", "DOWN+CLOUD"), groupOf(7, accepted("alpha-a3-0"))).Problems.Texts())
	assert.Empty(t, problems(nodes("alpha-a3-0", "DOWN+CLOUD+POWER_DOWN")), "it goes")
	assert.Empty(t, problems(nodes("alpha-a3-0", "DOWN+CLOUD+REBOOT_ISSUED+NOT_RESPONDING")), "J9: scontrol reboot")
	assert.Empty(t, problems(nodes("alpha-a3-0", "DOWN+CLOUD"), job(7, "train", "15:00", slurm.JobCompleting, "alpha-a3-0")), "its job is leaving")
	assert.Empty(t, problems(because("alpha-a3-0", "DOWN+CLOUD", memo.Lost+"gone")), "slurmflex has set it DOWN")
}

// D13
func TestMachineOfAnUnservedNodeIsReported(t *testing.T) {
	const what = "machines of alpha-a3-0 run or are requested for no job, and Slurm does not have these nodes: " +
		"give slurm.conf the nodes of nodeset a3 (slurmflex config slurm-conf), or delete the machines and requests"
	problems := func(parts ...part) []string {
		return alphaPlan(parts...).Problems.Texts()
	}
	there := and(groupOf(7), machinesOf(7, "alpha-a3-0"))
	assert.Equal(t, []string{what}, problems(there, aged(10*time.Minute)))
	assert.Empty(t, problems(there, aged(9*time.Minute)), "Slurm may show the node in a moment")
	assert.NotContains(t, problems(there, aged(time.Hour), job(7, "train", "15:00", slurm.JobRunning, "alpha-a3-0")), what, "a job has it")
	assert.Equal(t, []string{what}, problems(queued("alpha-a3-0", 10*time.Minute)))

	assert.Equal(t, []string{"machines of alpha-cpu-[0-1] run or are requested for no job, and nodeset cpu has neither dws_flex nor capacity any more: " +
		"delete the machines and requests, or give the nodeset its keys back"},
		problems(nodes("alpha-cpu-[0-1]", "IDLE+CLOUD"), group("alpha-cpu-job-7", forJob("cpu", 7), request("a1", mig.Accepted, "alpha-cpu-1", time.Hour)), asked(time.Hour),
			vms("alpha-cpu-0", "alpha-cpu-job-7", "RUNNING"), aged(time.Hour)))
}

func TestNodeWithALostMachineIsSetDownAndSlurmRequeuesItsJob(t *testing.T) {
	const gone = "set nodes alpha-a3-0 down"
	at := func(state string) part {
		return and(runsOn(7, "alpha-a3-0"), timeLimit("1:00:00"), nodes("alpha-a3-0", state), brought("alpha-a3-0", time.Hour))
	}
	works := at(running)
	in := func(name string, given part, want ...string) {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, withoutComments(alphaPlan(given))) })
	}
	lost := and(works, missing("alpha-a3-0"))
	in("when it is gone", lost, gone)
	for _, status := range []string{"STOPPED", "TERMINATED", "SUSPENDED", "REPAIRING"} {
		in("when it is "+status, and(lost, vms("alpha-a3-0", "alpha-a3-job-7", status)), gone)
	}
	in("also while its lease or maintenance keeps other jobs off", and(at(running+"+MAINTENANCE+RESERVED"), missing("alpha-a3-0")), gone)
	in("not by one look", works)
	in("nor while its group has it", and(lost, counting(1), saying("alpha-a3-0", "")))
	young := and(lost, counting(1), asked(time.Minute))
	in("also soon after its creation, if its group reports the loss", and(young, saying("", "alpha-a3-0")), gone)
	stopped := func(s *setting) {
		s.say(scene.Members{All: []mig.Member{{Name: "alpha-a3-0", Status: "TERMINATED", Action: "NONE"}}})
	}
	in("also if its group counts it and shows it stopped", and(young, vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED"), stopped), gone)
	in("not if the group has only not got it yet", and(young, saying("", "")))
	in("nor while the group's members are unread", and(lost, counting(1), silent))
	in("nor if an admin drains it", and(at(running+"+DRAIN"), missing("alpha-a3-0")))
	in("with the job's other nodes, in one update: the job ends with the first", and(runsOn(7, "alpha-a3-[0-2]"), timeLimit("1:00:00"), brought("alpha-a3-[0-2]", time.Hour), missing("alpha-a3-[0-2]")), "set nodes alpha-a3-[0-2] down")
}

func TestNodeSetDownForALossIsPoweredDownAndUsedAgain(t *testing.T) {
	const lost = "slurmflex: machine lost: the machine of alpha-a3-0 is gone: deleted by somebody, or lost by Google"
	const off = "set nodes alpha-a3-0 power_down_force"
	in := situations(t, alphaConfig)
	in("when it is gone", seen(because("alpha-a3-0", "DOWN+CLOUD", lost)), off)
	in("when it is still there, stopped", seen(because("alpha-a3-0", "DOWN+CLOUD", lost), groupOf(7), vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED")), off)
	in("when Slurm was powering it down already", seen(because("alpha-a3-0", "DOWN+CLOUD+POWERED_DOWN", lost)), "set nodes alpha-a3-0 resume")
	in("not while the job leaves it", seen(because("alpha-a3-0", "DOWN+CLOUD+COMPLETING", lost)))
	in("not if an admin has set it down", seen(because("alpha-a3-0", "DOWN+CLOUD", "broken fan")))
	for _, reboot := range []string{"DOWN+CLOUD+DRAIN+REBOOT_ISSUED", "DOWN+CLOUD+DRAIN+REBOOT_REQUESTED"} {
		in("when scontrol reboot ASAP has drained it: "+reboot, seen(nodes("alpha-a3-0", reboot), missing("alpha-a3-0")), off)
	}
	in("not if an admin has drained it", seen(nodes("alpha-a3-0", "DOWN+CLOUD+DRAIN"), missing("alpha-a3-0")))
	in("an idle node without its machine is set DOWN without a notice", seen(nodes("alpha-a3-0", "IDLE+CLOUD"), missing("alpha-a3-0")), off)
}

func TestMaintenanceEndsAMachineLikeALeaseEnd(t *testing.T) {
	in := situations(t, with("on_lease_end: requeue"))
	early := and(runsOn(7, "alpha-a3-0"), timeLimit("1:30:00"), groupOf(7), ending("alpha-a3-0", "alpha-a3-job-7", time.Hour, 5*time.Hour))
	in("its node is reserved from then on", seen(early, maintained("alpha-a3-0", 2*time.Hour)), "reserve alpha-a3-0 from 2026-11-21T14:00:00Z for 10 min")
	in("unless its lease ends before", seen(early, maintained("alpha-a3-0", 7*time.Hour)), "reserve alpha-a3-0 from 2026-11-21T17:00:00Z for 10 min")
	guarded := seen(runsOn(7, "alpha-a3-0"), timeLimit("5:00:00"), started(7, time.Hour), groupOf(7),
		ending("alpha-a3-0", "alpha-a3-job-7", time.Hour, 5*time.Hour), maintained("alpha-a3-0", time.Minute), told(7, endsAt(time.Minute)),
		reserved("slurmflex-alpha-1795262460", "alpha-a3-0", noon.Add(time.Minute)))
	in("its job is requeued before", guarded,
		says("flex-start: requeued: maintenance of the host of alpha-a3-0 begins at 2026-11-21T12:01:00Z, before its time limit"), "requeue job 7")
	assert.Equal(t, "maintenance of the host of alpha-a3-0 begins at 2026-11-21T12:01:00Z, before its time limit",
		planOf(with("on_lease_end: requeue"), guarded).Actions[1].Because())
	stopped := seen(runsOn(7, "alpha-a3-0"), timeLimit("1:00:00"),
		groupOf(7, request("a1", mig.Succeeded, "alpha-a3-0", 5*time.Hour)), asked(time.Hour), vms("alpha-a3-0", "alpha-a3-job-7", "TERMINATED"),
		aged(time.Hour), reserved("slurmflex-alpha-1795262100", "alpha-a3-0", noon.Add(-5*time.Minute)), missing("alpha-a3-0"))
	assert.Equal(t, scene.Maintained, planOf(alphaConfig, stopped).Losses[0].Cause)
}
