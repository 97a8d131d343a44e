package plan

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

const (
	staticUp   = "IDLE+CLOUD"
	givenUp    = "DOWN+CLOUD+NOT_RESPONDING"
	tooLate    = "DOWN+CLOUD+POWERED_DOWN"
	configured = slurm.JobConfiguring
)

func TestStaticNodeIsPoweredUpAndRenewed(t *testing.T) {
	in := situations(t, alphaConfig)
	in("nor where the cloud could not be read", seen(nodes("alpha-one-[0-1]", poweredDown), unseen("europe-west4")))
	in("its failures are waited out, and never power it down", seen(nodes("alpha-one-0", risingIdle),
		nodeGroup(0, failed("a1", "alpha-one-0", mig.CauseConfig, time.Second))),
		`set nodes alpha-one-0 comment "slurmflex: waits in alpha-one-node-0 since 2026-11-21T12:00:00Z, armed 2026-11-21T12:00:00Z"`)
	in("not while a job still runs there", seen(nodes("alpha-one-0", "ALLOCATED+CLOUD+MAINTENANCE+RESERVED"),
		job(7, "shared", "15:00", slurm.JobRunning, "alpha-one-0"),
		reserved("slurmflex-alpha-1795262340", "alpha-one-0", noon)))
	in("not while a job runs on it, but its owner is notified", seen(nodes("alpha-one-0", "ALLOCATED+CLOUD+NOT_RESPONDING"),
		job(7, "shared", "15:00", slurm.JobRunning, "alpha-one-0")),
		`set AdminComment of job 7: "flex-start: machine lost: the machine of alpha-one-0 is gone: deleted by somebody, or lost by Google"`)
	in("not where the cloud could not be read", seen(nodes("alpha-one-0", givenUp), unseen("europe-west4")))
	in("it is returned to service when it did not boot in time",
		seen(because("alpha-one-2", tooLate, "ResumeTimeout reached")), "set nodes alpha-one-2 resume")
	in("not when it had an admin's", seen(because("alpha-one-2", tooLate, "burnt : ResumeTimeout reached")))
	in("but a node that an admin downed stays down", seen(because("alpha-one-[0-2]", tooLate, "burnt")))
	waitsOn := func(age time.Duration) scene.Snapshot {
		return seen(awaits(7, "alpha-one-0"), shared, started(7, time.Minute),
			nodeGroup(0), leased("alpha-one-0", "alpha-one-node-0", age, 5*time.Hour))
	}
	in("and not for one that could not be deleted when it was powered down", waitsOn(40*time.Minute), "delete instances alpha-one-0 of alpha-one-node-0")
	situations(t, with("renew_before: 3600"))("it is renewed early where that is wanted, when idle",
		seen(nodes("alpha-one-0", staticUp), nodes("alpha-one-1", "ALLOCATED+CLOUD"),
			job(7, "shared", "15:00", slurm.JobRunning, "alpha-one-1"),
			reserved("slurmflex-alpha-1795265940", "alpha-one-[0-1]", noon), nodeGroup(0),
			ending("alpha-one-0", "alpha-one-node-0", time.Hour, 59*time.Minute), nodeGroup(1),
			ending("alpha-one-1", "alpha-one-node-1", time.Hour, 59*time.Minute)), "set nodes alpha-one-0 power_down")
	situations(t, with("renew_before: 3600"))("and not earlier", seen(nodes("alpha-one-0", staticUp),
		reserved("slurmflex-alpha-1795266060", "alpha-one-0", noon), nodeGroup(0),
		ending("alpha-one-0", "alpha-one-node-0", time.Hour, 61*time.Minute)))
}

func TestReservationsKeepJobsOffTheEndOfALease(t *testing.T) {
	const at13 = "slurmflex-alpha-1795266000" // 13:00 on the same day
	group7 := groupOf(7)
	running7 := func(list string) part {
		return and(runsOn(7, list), timeLimit("1:00:00"))
	}
	old := reserved(at13, "alpha-a3-0", noon.Add(time.Hour))
	in := situations(t, alphaConfig)
	in("nodes with the same end, to the minute, share one", seen(running7("alpha-a3-[0-1]"), group7,
		ending("alpha-a3-0", "alpha-a3-job-7", time.Hour, time.Hour),
		ending("alpha-a3-1", "alpha-a3-job-7", time.Hour, time.Hour+59*time.Second)),
		"reserve alpha-a3-[0-1] from 2026-11-21T13:00:00Z for 10 min")
	in("one with other nodes is changed", seen(running7("alpha-a3-[0-1]"), group7,
		ending("alpha-a3-[0-1]", "alpha-a3-job-7", time.Hour, time.Hour),
		old), "change reservation "+at13+" to alpha-a3-[0-1]")
	in("one that no node needs is deleted", seen(nodes("alpha-a3-0", poweredDown),
		old), "delete reservation "+at13)
	in("one in an unread region is kept", seen(running7("alpha-a3-0"), unseen("us-central1"),
		old))
	in("a lease that is not its job's time limit has one too", seen(runsOn(7, "alpha-fix-0"),
		group("alpha-fix-job-7", forJob("fix", 7)), ending("alpha-fix-0", "alpha-fix-job-7", 0, time.Hour)),
		"reserve alpha-fix-0 from 2026-11-21T13:00:00Z for 10 min")
	in("a node's next lease has its own, and the old one's goes", seen(running7("alpha-a3-0"), group7,
		ending("alpha-a3-0", "alpha-a3-job-7", 0, 2*time.Hour), old),
		"reserve alpha-a3-0 from 2026-11-21T14:00:00Z for 10 min", "delete reservation "+at13)
	in("a node without its machine keeps its reservation until Slurm has powered it down",
		seen(nodes("alpha-a3-0", "IDLE+CLOUD"), old))
	lasting := func(end time.Time) part {
		return func(s *setting) { s.Reservations[len(s.Reservations)-1].End = end }
	}
	at1155 := "slurmflex-alpha-" + strconv.FormatInt(noon.Add(-5*time.Minute).Unix(), 10)
	since13 := and(running7("alpha-a3-0"), group7, ending("alpha-a3-0", "alpha-a3-job-7", time.Hour, time.Hour), old)
	in("one of a year, as the version before made them, is shortened", seen(since13, lasting(noon.Add(366*24*time.Hour))),
		"change reservation "+at13+" to alpha-a3-0 until 2026-11-21T13:10:00Z")
	gone := and(running7("alpha-a3-0"), reserved(at1155, "alpha-a3-0", noon.Add(-5*time.Minute)))
	in("one that soon ends is extended while its node is up", seen(gone, lasting(noon.Add(5*time.Minute-time.Second))),
		"change reservation "+at1155+" to alpha-a3-0 until 2026-11-21T12:10:00Z")
	in("and not before", seen(gone, lasting(noon.Add(5*time.Minute))))
	in("one that is missing after the end starts now", seen(running7("alpha-a3-0"), group7,
		ending("alpha-a3-0", "alpha-a3-job-7", time.Hour, -5*time.Minute)), "reserve alpha-a3-0 from 2026-11-21T12:00:00Z for 10 min")
	in("a clock that is ahead extends none", seen(gone, lasting(noon.Add(5*time.Minute)), ahead(24*time.Hour)))
	slow := alphaCopy()
	slow.Options.Interval = 15 * time.Minute
	situations(t, slow)("one outlasts two passes", seen(since13, lasting(noon.Add(70*time.Minute))),
		"change reservation "+at13+" to alpha-a3-0 until 2026-11-21T13:30:00Z")
	in("an instance without an end needs none", seen(running7("alpha-a3-0"), group7,
		vms("alpha-a3-0", "alpha-a3-job-7", "STAGING")))
}

func TestWaitForCapacityIsReportedAndOutlastsResumeTimeout(t *testing.T) {
	waiting := func(ago time.Duration, more ...part) scene.Snapshot {
		parts := []part{awaits(7, "alpha-a3-[0-1]"), queued("alpha-a3-[0-1]", ago)}
		return seen(append(parts, more...)...)
	}
	const comment = "slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T09:47:00Z, armed 2026-11-21T09:47:00Z"
	const waited = "flex-start: waiting since 2026-11-21T09:47:00Z for 2 × a3-machine for 00:15:00"
	const ago = 2*time.Hour + 13*time.Minute
	noted := and(commented("alpha-a3-[0-1]", comment), told(7, waited))
	in := situations(t, alphaConfig)
	in("shows on the nodes and in the job's AdminComment", waiting(ago),
		`set nodes alpha-a3-[0-1] comment "`+comment+`"`, `set AdminComment of job 7: "`+waited+`"`)
	in("for its turn, a back-off or the breaker outlasts ResumeTimeout too", seen(awaits(7, "alpha-a3-0"),
		resumeTimeout(time.Hour), refused("alpha-a3-job-7", mig.CauseQuota, time.Second, 4),
		told(7, "flex-start: attempt 4 failed: a quota of the project is used up; retrying at 2026-11-21T12:07:59Z"),
		started(7, 20*time.Minute)),
		`set nodes alpha-a3-0 power_up comment "slurmflex: waits in alpha-a3-job-7 since 2026-11-21T11:40:00Z, armed 2026-11-21T12:00:00Z"`)
	const timer, sixth = "slurmflex: waits in alpha-a3-job-7 since 2026-11-21T11:40:00Z, armed 2026-11-21T", "flex-start: attempt 6 failed: a quota of the project is used up; retrying at 2026-11-21T12:29:59Z"
	in("resets the timer of a shared node that is not returned", seen(awaits(7, "alpha-a3-0"), shared, job(8, "shared", "15:00", configured, "alpha-a3-0"),
		resumeTimeout(time.Hour), refused("alpha-a3-job-7", mig.CauseQuota, time.Second, 6), commented("alpha-a3-0", timer+"11:40:00Z"), told(8, sixth)),
		`set nodes alpha-a3-0 power_up comment "`+timer+`12:00:00Z"`, `set AdminComment of job 7: "`+sixth+`"`)
	in("counts from when the job was given its nodes, whichever attempt it is", waiting(ago,
		commented("alpha-a3-[0-1]", comment), started(7, 5*time.Hour)),
		`set AdminComment of job 7: "flex-start: waiting since 2026-11-21T07:00:00Z for 2 × a3-machine for 00:15:00"`)
	in("reports a lease that will be too short",
		waiting(ago, commented("alpha-a3-[0-1]", comment), func(s *setting) {
			s.Jobs[0].Limit = slurm.ParseLimit("30-00:00:00")
			s.Groups[0].Requests[0].Duration = 7 * 24 * time.Hour
		}),
		`set AdminComment of job 7: "flex-start: waiting since 2026-11-21T09:47:00Z for 2 × a3-machine for 7-00:00:00, less than its time limit of 30-00:00:00"`)
	in("outlasts ResumeTimeout: its count starts over in good time", waiting(ago,
		noted, resumeTimeout(6*time.Hour)),
		`set nodes alpha-a3-[0-1] power_up comment `+`"slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T09:47:00Z, armed 2026-11-21T12:00:00Z"`)
	in("but again if slurmctld refused to for one of the nodes", waiting(ago, commented("alpha-a3-0", strings.Replace(comment, "armed 2026-11-21T09:47",
		"armed 2026-11-21T11:59", 1)), commented("alpha-a3-1", comment), told(7, waited), resumeTimeout(6*time.Hour)),
		`set nodes alpha-a3-[0-1] power_up comment `+`"slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T09:47:00Z, armed 2026-11-21T12:00:00Z"`)
	in("nor once machines are being made", waiting(ago, noted,
		resumeTimeout(6*time.Hour), vms("alpha-a3-0", "alpha-a3-job-7", "PROVISIONING")))
	in("ends, and the nodes' comments are removed", seen(runsOn(7, "alpha-a3-[0-1]"),
		commented("alpha-a3-[0-1]", comment)), `set nodes alpha-a3-[0-1] comment ""`)
	situations(t, with("provision_timeout: 7200, on_provision_timeout: hold"))("ends at provision_timeout as is configured",
		waiting(ago, noted),
		"return alpha-a3-[0-1] to Slurm and hold job 7: no capacity for 2 × a3-machine in 2h10m (provision_timeout 02:00:00)")
	situations(t, with("provision_timeout: 9000"))("not before provision_timeout", waiting(ago,
		noted))
}

func TestIncompleteAllocationIsReturned(t *testing.T) {
	half := func(age time.Duration) scene.Snapshot {
		return seen(nodes("alpha-a3-[0-999]", running), nodes("alpha-a3-[1000-1099]", poweringUp), job(7, "train",
			"15:00", configured, "alpha-a3-[0-1099]"), leasedTo(7, "alpha-a3-[0-999]", age, time.Hour),
			group("alpha-a3-job-7-p1", forJob("a3", 7), accepted("alpha-a3-[1000-1099]")))
	}
	assert.Empty(t, planned(half(9*time.Minute)))
	assert.Equal(t, []string{
		"return alpha-a3-[1000-1099] to Slurm and requeue job 7: 1000 nodes arrived at 11:50:00 but 100 others did not within gang_timeout 00:10:00",
	}, planned(half(10*time.Minute)))
	assert.Empty(t, actions(planOf(with("gang_timeout: 0"), half(10*time.Hour))), "0 is off")
}

func TestOnlyTheNodeThatNeverRegistersIsPoweredDown(t *testing.T) {
	s := seen(halfUp(),
		leasedTo(7, "alpha-a3-[0-1]", 10*time.Minute, 50*time.Minute))
	assert.Equal(t, []string{
		"return alpha-a3-1 to Slurm and requeue job 7: the machine did not join Slurm within boot_timeout 00:10:00",
	}, actions(planOf(with("boot_timeout: 600"), s)))
	assert.Empty(t, actions(planOf(with("boot_timeout: 601"), s)))
	assert.Empty(t, actions(planOf(with("boot_timeout: 0"), s)), "0 is off")
}

func TestUnusableTemplateIsReported(t *testing.T) {
	const link = "projects/demo/global/instanceTemplates/a3"
	given := func(change func(*scene.Template)) scene.Snapshot {
		s := seen(awaits(7, "alpha-a3-0"))
		t := s.Templates[link]
		change(&t)
		s.Templates[link] = t
		return s
	}
	in := situations(t, alphaConfig)
	in("that contradicts flex-start is named with the fix, and the job held",
		given(func(t *scene.Template) { t.Model = "STANDARD" }),
		"return alpha-a3-0 to Slurm and hold job 7: instance template "+link+" cannot give flex-start nodes: provisioningModel is STANDARD; make a template with FLEX_START")
	in("that does not exist is named, and the job held", given(func(t *scene.Template) {
		t.Err = &mig.Error{Op: "read instance template", Object: link, Trouble: mig.Trouble{Cause: mig.CauseNotFound, Message: "404 notFound"}}
	}),
		"return alpha-a3-0 to Slurm and hold job 7: read instance template "+link+": 404 notFound")
	in("that could not be read is waited for",
		given(func(t *scene.Template) {
			t.Err = &mig.Error{Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: "503"}}
		}))
	s := given(func(*scene.Template) {})
	s.Templates = nil
	assert.Empty(t, planOf(alphaConfig, s).Actions, "unread is not fit")
}

func TestInstanceOfAnotherProvisioningModelIsReported(t *testing.T) {
	s := seen(runsOn(7, "alpha-a3-0"), groupOf(7), machinesOf(7, "alpha-a3-0"))
	s.Instances[0].Model = mig.Standard
	assert.Contains(t, planOf(alphaConfig, s).Problems.Texts(),
		"instance alpha-a3-0 is STANDARD, not FLEX_START, and billed otherwise: correct instance template "+
			"projects/demo/global/instanceTemplates/a3 and delete it, unless the nodeset's capacity was changed")
}

func TestRequestUnderWayHoldsItsPlace(t *testing.T) {
	cfg := withRequests(1)
	s := seen(nodes("alpha-a3-[0-1]", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"), job(8, "train", "15:00", configured, "alpha-a3-1"),
		func(s *setting) {
			s.Jobs[1].Priority = 100
			s.Asking = map[string]bool{"alpha-a3-0": true}
		})
	assert.Equal(t, []string{`set AdminComment of job 8: "flex-start: waiting for its turn: place 1 in us-central1, which has at most 1 active request"`},
		actions(planOf(cfg, s)), "though the other job is more important")
}
