package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// limitedPending is a covered cluster of eight nodes with 4 CPUs and 2 GPUs each, and a tree of
// accounts: phys below root, and in phys the accounts ml and chem, with user ann in both.
type limitedPending struct{ waitingPending }

func newLimitedPending() limitedPending {
	w := limitedPending{waitingPendingIn(8)}
	w.jobless()
	w.Snap.Partitions[0].PerNode = map[string]int64{"cpu": 4, "gres/gpu": 2}
	w.Snap.Allowances = slurm.Allowances{
		Associations: map[slurm.AssociationKey]*slurm.Association{},
		QOS:          map[string]*slurm.QOS{"normal": {}}, Charges: map[uint32]slurm.Charge{},
	}
	var above *slurm.Association
	for _, name := range []string{"root", "phys", "ml"} {
		above = w.account(above, name)
	}
	w.account(w.Snap.Allowances.Associations[slurm.AssociationKey{Account: "phys"}], "chem")
	for _, name := range []string{"ml", "chem"} {
		parent := w.Snap.Allowances.Associations[slurm.AssociationKey{Account: name}]
		w.Snap.Allowances.Associations[slurm.AssociationKey{Account: name, User: "ann"}] = &slurm.Association{Parent: parent, Account: name, UID: "5"}
	}
	return w
}

// waits adds a job of ann's that waits for that many nodes. Earlier jobs are more important.
func (w limitedPending) waits(nodes int, charge slurm.Charge) *slurm.Job {
	id := uint32(len(w.Snap.Jobs) + 1)
	w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{
		ID: id, ArrayID: id, State: slurm.JobPending, Priority: 1000 - uint64(id), NodeCount: nodes, Partition: "train", User: "ann", Account: charge.Account, Reason: "Priority",
		Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
	})
	w.Snap.Allowances.Charges[id] = charge
	return &w.Snap.Jobs[id-1]
}

func (w limitedPending) account(above *slurm.Association, name string) *slurm.Association {
	a := &slurm.Association{Parent: above, Account: name}
	w.Snap.Allowances.Associations[slurm.AssociationKey{Account: name}] = a
	return a
}

// of returns an account's association, or ann's association in it ("ml/ann").
func (w limitedPending) of(name string) *slurm.Association {
	account, user, _ := strings.Cut(name, "/")
	return w.Snap.Allowances.Associations[slurm.AssociationKey{Account: account, User: user}]
}

// limit sets a limit of an association.
func (w limitedPending) limit(name, limit, of string, most, used int64) {
	a := w.of(name)
	a.Allowances = append(a.Allowances, slurm.Allowance{Limit: limit, Of: of, Most: most, Used: used})
}

// doors returns the jobs that get doors, and the obstacles of those that do not.
func (w limitedPending) doors() (doors []uint32, held map[uint32]string) {
	p := w.plan()
	held = map[uint32]string{}
	for _, wait := range p.Held {
		// Not a limit.
		if !strings.HasPrefix(wait.Obstacle, "needs ") && !strings.HasPrefix(wait.Obstacle, "Slurm has") && !strings.HasPrefix(wait.Obstacle, "free nodes") {
			held[wait.Job] = wait.Obstacle
		}
	}
	return doorsIn(p), held
}

// doorsIn returns the jobs that get doors.
func doorsIn(p plan.Plan) (jobs []uint32) {
	for _, a := range p.Actions {
		if use, ok := a.(action.UseReservation); ok && !use.Leave {
			jobs = append(jobs, use.Job)
		}
	}
	return jobs
}

var ml, chem = slurm.Charge{Account: "ml", QOS: "normal"}, slurm.Charge{Account: "chem", QOS: "normal"}

func TestLimitsHoldJobsBack(t *testing.T) {
	qos := func(w limitedPending, name string, limits ...slurm.Allowance) {
		w.Snap.Allowances.QOS[name] = &slurm.QOS{Allowances: limits}
	}
	for name, test := range map[string]struct {
		// Jobs 1, 2 and 3 of ml need one node each, as does job 4 of chem.
		given func(w limitedPending)
		doors []uint32
		why   string // the obstacle of the others
	}{
		"nodes in use": {
			func(w limitedPending) { w.limit("ml", "GrpTRES", "node", 2, 1) },
			[]uint32{1, 4},
			"account ml may use 2 nodes at once (GrpTRES): 2 are in use or requested, and the job needs 1",
		},
		"CPUs of an account above": {
			func(w limitedPending) { w.limit("phys", "GrpTRES", "cpu", 12, 0) },
			[]uint32{1, 2, 3},
			"account phys may use 12 CPUs at once (GrpTRES): 12 are in use or requested, and the job needs 4",
		},
		"billing units in total": {
			func(w limitedPending) {
				w.Snap.Partitions[0].PerNode["billing"] = 10
				w.limit("ml", "GrpTRESMins", "billing minutes", 1000, 0)
			},
			[]uint32{1, 4},
			"account ml may use 1000 billing minutes in total (GrpTRESMins): 600 are used or requested, and the job needs 600",
		},
		"jobs of an account": {
			func(w limitedPending) { w.limit("ml", "GrpJobs", "jobs", 2, 0) },
			[]uint32{1, 2, 4},
			"account ml may run 2 jobs at once (GrpJobs): 2 run or wait for machines",
		},
		"jobs of a user": {
			func(w limitedPending) {
				w.limit("ml/ann", "MaxJobs", "jobs", 2, 0)
				w.limit("ml", "MaxJobs", "jobs", 1, 0)
			},
			[]uint32{1, 2, 4},
			"its owner in account ml may run 2 jobs at once (MaxJobs): 2 run or wait for machines",
		},
		"nodes of a job": {
			func(w limitedPending) { w.limit("ml/ann", slurm.PerJob, "node", 1, 0); w.Snap.Jobs[0].NodeCount = 2 },
			[]uint32{2, 3, 4},
			"a job of its owner in account ml may use 1 node (MaxTRESPJ), and it needs 2",
		},
		"GPUs of each node": {
			func(w limitedPending) {
				w.limit("chem/ann", slurm.PerNode, "gres/gpu", 1, 0)
				w.limit("ml/ann", slurm.PerNode, "gres/gpu", 2, 0)
			},
			[]uint32{1, 2, 3},
			"a job of its owner in account chem may use 1 GPU of each node (MaxTRESPN), and it needs 2",
		},
		"minutes of a job": {
			func(w limitedPending) { w.limit("chem/ann", slurm.JobMinutes, "node minutes", 59, 0) },
			[]uint32{1, 2, 3},
			"a job of its owner in account chem may use 59 node minutes (MaxTRESMinsPJ), and it needs 60",
		},
		"fewer minutes of a job with --time-min": {func(w limitedPending) {
			w.limit("chem", slurm.JobMinutes, "node minutes", 59, 0)
			w.Snap.Allowances.Charges[4] = slurm.Charge{Account: "chem", QOS: "normal", MinTime: 59 * time.Minute}
		}, []uint32{1, 2, 3, 4}, ""},
		"minutes in total": {
			func(w limitedPending) { w.limit("ml", "GrpTRESMins", "cpu minutes", 1000, 400) },
			[]uint32{1, 2, 4},
			"account ml may use 1000 CPU minutes in total (GrpTRESMins): 880 are used or requested, and the job needs 240",
		},
		"minutes of running jobs": {
			func(w limitedPending) { w.limit("phys", "GrpTRESRunMins", "gres/gpu minutes", 399, 0) },
			[]uint32{1, 2, 3},
			"account phys may use 399 GPU minutes at once (GrpTRESRunMins): 360 are in use or requested, and the job needs 120",
		},
		"minutes of a job without a time limit": {
			func(w limitedPending) {
				w.limit("chem", "GrpTRESRunMins", "node minutes", 1e9, 0)
				w.Snap.Jobs[3].Limit = slurm.Limit{Kind: slurm.Unlimited}
			},
			[]uint32{1, 2, 3},
			"account chem may use 1000000000 node minutes at once (GrpTRESRunMins): 0 are in use or requested, and the job needs 4294967295",
		},
		"minutes that have run out, of jobs in a QOS that nothing was charged to": {func(w limitedPending) {
			w.limit("ml", "GrpTRESMins", "cpu minutes", 1000, 1000)
			w.Snap.Allowances.QOS["normal"].Uncharged = true // its UsageFactor may be 0
		}, []uint32{1, 2, 3, 4}, ""},
		"minutes of an account and a QOS that nothing was charged to": {func(w limitedPending) {
			w.limit("chem", "GrpTRESMins", "cpu minutes", 200, 0)
			w.Snap.Allowances.QOS["normal"].Uncharged = true
		}, []uint32{1, 2, 3}, "account chem may use 200 CPU minutes in total (GrpTRESMins): 0 are used or requested, and the job needs 240"},
		"memory is not counted": {func(w limitedPending) { w.limit("ml", "GrpTRES", "mem", 1, 0) }, []uint32{1, 2, 3, 4}, ""},
		"a QOS's limit in place of the account's": {func(w limitedPending) {
			w.limit("ml", "GrpTRES", "node", 1, 0)
			qos(w, "normal", slurm.Allowance{Limit: "GrpTRES", Of: "node", Most: 9})
		}, []uint32{1, 2, 3, 4}, ""},
		"a QOS's jobs of a user": {func(w limitedPending) {
			w.limit("ml/ann", "MaxJobs", "jobs", 1, 0)
			w.Snap.Allowances.QOS["normal"] = &slurm.QOS{Users: map[string][]slurm.Allowance{"5": {{Limit: "MaxJobsPU", Of: "jobs", Most: 3}}}}
		}, []uint32{1, 2, 3}, "its owner in QOS normal may run 3 jobs at once (MaxJobsPU): 3 run or wait for machines"},
		"a QOS's nodes of an account": {func(w limitedPending) {
			w.Snap.Allowances.QOS["normal"] = &slurm.QOS{Accounts: map[string][]slurm.Allowance{"ml": {{Limit: "MaxTRESPA", Of: "node", Most: 2}}}}
		}, []uint32{1, 2, 4}, "account ml in QOS normal may use 2 nodes at once (MaxTRESPA): 2 are in use or requested, and the job needs 1"},
		"the more generous QOS of two": {func(w limitedPending) {
			w.Snap.Partitions[0].QOS = "part"
			qos(w, "part", slurm.Allowance{Limit: "GrpTRES", Of: "node", Most: 1})
			qos(w, "normal", slurm.Allowance{Limit: "GrpTRES", Of: "node", Most: 3})
		}, []uint32{1, 2, 3}, "QOS part may use 1 node at once (GrpTRES): 3 are in use or requested, and the job needs 1"},
		"a charge that is not known": {func(w limitedPending) { w.limit("ml", "GrpTRES", "node", 1, 0); w.Snap.Allowances.Charges = nil }, []uint32{1, 2, 3, 4}, ""},
		"licenses": {func(w limitedPending) {
			w.Snap.Allowances.Licenses = map[string]*slurm.Allowance{"lic": {Limit: "Licenses", Of: "license/lic", Most: 3, Used: 1}}
			w.Snap.Allowances.Charges = map[uint32]slurm.Charge{1: {Licenses: "lic:2"}, 2: {Licenses: "lic"}, 3: {Licenses: "lic:1|other:1"}, 4: {Licenses: "other:9"}}
		}, []uint32{1, 3, 4}, "3 of 3 licenses of lic are in use or requested, and the job needs 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLimitedPending()
			for _, charge := range []slurm.Charge{ml, ml, ml, chem} {
				w.waits(1, charge)
			}
			test.given(w)
			doors, held := w.doors()
			assert.Equal(t, test.doors, doors)
			for id := range uint32(4) {
				if !slices.Contains(doors, id+1) {
					assert.Equal(t, test.why, held[id+1])
				}
			}
		})
	}
}

// squeue shows the most nodes of a range.
func TestLimitsCountTheNodesThatSlurmHasPlannedOfARange(t *testing.T) {
	for most, want := range map[int64][]uint32{16: {1}, 15: nil} {
		w := newLimitedPending()
		w.limit("ml", "GrpTRES", "gres/gpu", most, 8)
		j := w.waits(8, ml)
		j.Planned, j.Start = scenetest.Names("alpha-a3-[4-7]"), endOf(coverName)
		doors, held := w.doors()
		assert.Equal(t, want, doors, held)
	}
}

func TestLimitsCountJobsWithDoors(t *testing.T) {
	w := newLimitedPending()
	first := w.waits(2, ml)
	first.Reservation, first.Reason = memo.DoorReservation("alpha", "1", noon.Add(-time.Minute)), "Reservation"
	w.reserve(first.Reservation, 14*time.Minute+30*time.Second, "alpha-a3-[0-1]", "PURGE_COMP=00:05:00")
	w.waits(2, ml)
	w.limit("ml", "GrpTRES", "node", 3, 0)
	doors, held := w.doors()
	assert.Empty(t, doors)
	assert.Equal(t, map[uint32]string{2: "account ml may use 3 nodes at once (GrpTRES): 2 are in use or requested, and the job needs 2"}, held)
	w.Snap.Jobs[0].State, w.Snap.Jobs[0].Reservation = slurm.JobRunning, ""
	w.of("ml").Allowances[0].Used = 1
	doors, _ = w.doors()
	assert.Equal(t, []uint32{2}, doors, "Slurm counts a job that runs")
}

// Its request keeps its place at Google, because the limit may have changed when the machines exist.
func TestLimitUsedUpAfterTheRequestIsShown(t *testing.T) {
	w := newLimitedPending()
	j := w.waits(2, slurm.Charge{Account: "ml", QOS: "normal", Licenses: "lic"})
	j.Reservation, j.Reason = memo.DoorReservation("alpha", "1", noon.Add(-time.Minute)), "Reservation"
	w.reserve(j.Reservation, 14*time.Minute+30*time.Second, "alpha-a3-[0-1]", "PURGE_COMP=00:05:00")
	w.Requested(1, "alpha-a3-[0-1]", time.Minute)
	w.limit("ml", "GrpTRES", "node", 2, 0)
	free := &slurm.Allowance{Limit: "Licenses", Of: "license/lic", Most: 1}
	w.Snap.Allowances.Licenses = map[string]*slurm.Allowance{"lic": free}
	assert.Empty(t, w.plan().Waits[0].Obstacle, "the job itself does not count")
	free.Used = 1
	wait := w.plan().Waits[0]
	assert.Equal(t, demand.Queued, wait.Stage)
	assert.Equal(t, "1 of 1 licenses of lic are in use or requested, and the job needs 1: until this changes, granted machines are released", wait.Obstacle)
	assert.Equal(t, `set AdminComment of job 1: "flex-start: waiting since 2026-11-21T11:59:00Z for 2 × a3-highgpu-8g for 04:00:00; `+wait.Obstacle+`"`, w.all())

	free.Used, w.Snap.Throttles = 0, map[uint32]int{7: 1}
	j.ArrayID, j.ArrayTask, j.Reservation = 7, "0", memo.DoorReservation("alpha", "7_0", noon.Add(-time.Minute))
	w.Snap.Reservations[len(w.Snap.Reservations)-1].Name = j.Reservation
	assert.Empty(t, w.plan().Waits[0].Obstacle, "no other task runs")
	w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{ID: 8, ArrayID: 7, ArrayTask: "1", State: slurm.JobRunning})
	assert.Equal(t, "its own limit %1 (JobArrayTaskLimit): until this changes, granted machines are released", w.plan().Waits[0].Obstacle)
}

func TestLateJobIsHeldAndThenGetsItsCurrentNodeCount(t *testing.T) {
	w := newLimitedPending()
	j := w.waits(3, ml)
	w.Snap.Late = map[uint32]scene.Late{1: {Until: noon.Add(time.Minute), Reason: "Licenses"}}
	doors, held := w.doors()
	assert.Empty(t, doors)
	assert.Equal(t, map[uint32]string{1: "it did not start within 00:00:40 after its machines had registered (Slurm reason: Licenses)"}, held)
	assert.Equal(t, noon.Add(time.Minute), w.plan().Held[0].Next)
	j.Reason = "PartitionTimeLimit"
	wait := w.plan().Held[0]
	assert.Contains(t, wait.Obstacle, "(Slurm reason: PartitionTimeLimit)")
	assert.Zero(t, wait.Next, "as long as Slurm does not plan it")
	j.Reason = "Priority"
	w.limit("ml", "GrpTRES", "node", 2, 0)
	_, held = w.doors()
	assert.Equal(t, map[uint32]string{1: "account ml may use 2 nodes at once (GrpTRES): 0 are in use or requested, and the job needs 3"}, held)
	w.Snap.Late[1] = scene.Late{Until: noon.Add(time.Minute), Unknown: true}
	_, held = w.doors()
	assert.Equal(t, map[uint32]string{1: "slurmctld makes no reservation for its user: submit the job as a user whom the controller knows"}, held)
	w.Snap.Late[1] = scene.Late{Until: noon.Add(time.Minute), Refused: "Requested nodes are busy"}
	_, held = w.doors()
	assert.Equal(t, map[uint32]string{1: "slurmctld refuses to reserve nodes for it (Requested nodes are busy): ask an admin"}, held)
	w.of("ml").Allowances = nil
	w.Snap.Late, j.NodeCount = nil, 4
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[0-3] from")
}

func TestUnreadLimitsAreReportedAndHoldNothingBack(t *testing.T) {
	w := newLimitedPending()
	w.waits(1, ml)
	w.Snap.Allowances, w.Snap.AllowancesErr = slurm.Allowances{}, errors.New("scontrol: no answer within 30s")
	assert.Contains(t, strings.Join(w.plan().Problems.Texts(), "\n"), "could not be read")
	doors, _ := w.doors()
	assert.Equal(t, []uint32{1}, doors)
}

// Slurm plans all nodes for tasks that a limit holds back, and the job behind them beyond its window.
func TestJobThatSlurmCannotPlanBehindRestingTasksGetsNodes(t *testing.T) {
	limited := func(w limitedPending) { w.limit("ml", "GrpTRES", "node", 2, 2) }
	for name, test := range map[string]struct {
		given func(limitedPending)
		want  []uint32
	}{
		"their array's limit": {func(w limitedPending) { w.Snap.Jobs[0].ArrayTask = "2-9%2" }, []uint32{2}},
		"their account's":     {limited, []uint32{2}},
		"no limit":            {func(limitedPending) {}, nil},
		"two tasks may start": {func(w limitedPending) { w.Snap.Jobs[0].ArrayTask = "2-9%4" }, nil},
		"not for long enough": {func(w limitedPending) { limited(w); w.Snap.Unasked[2] = noon }, nil},
		"it lacks a license":  {func(w limitedPending) { limited(w); w.Snap.Jobs[1].Reason = "Licenses" }, nil},
		"on nodes of a switch": {func(w limitedPending) {
			limited(w)
			w.Snap.Allowances.Charges[2] = slurm.Charge{Account: "chem", QOS: "normal", ByPosition: true}
		}, nil},
	} {
		w := newLimitedPending()
		w.waits(1, ml).ArrayTask = "2-9"
		w.waits(1, chem)
		w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
		for i := range 2 {
			w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{ID: uint32(10 + i), ArrayID: 1, ArrayTask: fmt.Sprint(i), State: slurm.JobRunning, Partition: "train", User: "ann", Nodes: []string{fmt.Sprintf("alpha-a3-%d", i)}})
			w.Snap.Nodes[i].State = slurm.ParseState("ALLOCATED+CLOUD")
		}
		w.Snap.Unasked = map[uint32]time.Time{2: noon.Add(-3 * time.Minute)}
		test.given(w)
		assert.Equal(t, test.want, doorsIn(plan.Compute(scene.Of(w.Config, w.Snap))), name)
	}
}

func TestJobsBehindRestingTasksWaitSideBySide(t *testing.T) {
	w := newLimitedPending()
	w.waits(1, ml).ArrayTask = "2-9%2"
	for range 3 {
		w.waits(1, chem)
	}
	w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
	assert.Len(t, plan.Compute(scene.Of(w.Config, w.Snap)).Unasked, 4)
}

func TestJobThatSlurmHasNotPlannedReadsForWhichJobNodesAreKept(t *testing.T) {
	w := newLimitedPending()
	w.waits(8, ml)
	w.waits(1, chem)
	w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
	w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{ID: 10, State: slurm.JobRunning, Partition: "train", User: "ann", Nodes: []string{"alpha-a3-0"}})
	w.Snap.Nodes[0].State = slurm.ParseState("ALLOCATED+CLOUD")
	held := plan.Compute(scene.Of(w.Config, w.Snap)).Held
	require.Len(t, held, 2)
	assert.Equal(t, "free nodes of nodeset a3 are kept for job 1, which is more important and needs 8", held[1].Obstacle)
}

// Slurm plans late jobs and those that a limit on GPU hours holds back, and others behind them.
// Each node of a job takes 8 GPU hours: 8 GPUs for 50 minutes, and job_duration_margin.
func TestOtherJobsGetNodesOfJobsThatGetNone(t *testing.T) {
	newOver := func() limitedPending {
		w := newLimitedPending()
		for i, account := range []string{"ml", "chem"} {
			j := w.waits(8-2*i, slurm.Charge{Account: account, QOS: "normal"})
			j.Limit = slurm.Limit{Kind: slurm.LimitSet, Duration: 50 * time.Minute}
			j.Planned, j.Start = scenetest.Names("alpha-a3-[0-7]")[2*i:], noon.Add(time.Duration(23+i)*time.Hour)
		}
		w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
		w.Config.Options.Limits = []config.Limit{{Name: "ml", Account: "ml", GPUHours: 60}}
		w.Snap.Spent = scene.Spent{Of: []scene.Spending{{From: noon, To: noon.AddDate(0, 1, 0)}}, Hours: map[string]scene.Amount{"a3": {GPU: 8 * 3600}}}
		return w
	}
	const why = "waiting for the limit of account ml: 0 of 60 GPU hours of November are used or reserved; this job would take up to 64"
	w := newOver()
	doors, held := w.doors()
	assert.Equal(t, []uint32{2}, doors)
	assert.Equal(t, map[uint32]string{1: why}, held)
	assert.Contains(t, w.all(), `set AdminComment of job 1: "flex-start: `+why+`"`)
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[2-7] from ")

	w = newOver()
	w.Config.Options.Limits, w.Snap.Spent = nil, scene.Spent{}
	w.Snap.Late = map[uint32]scene.Late{1: {Until: noon.Add(time.Hour), Reason: "QOSMaxGRESPerNode"}}
	doors, _ = w.doors()
	assert.Equal(t, []uint32{2}, doors, "a late job")
	w.Snap.Late, w.Snap.Jobs[0].User = nil, ""
	doors, _ = w.doors()
	assert.Equal(t, []uint32{2}, doors, "a job of a user without reservations")

	w = newOver()
	w.Requested(1, "alpha-a3-[0-7]", 0)
	doors, _ = w.doors()
	assert.Equal(t, []uint32{1}, doors, "a job with a live request keeps it")

	w = newOver()
	door := memo.DoorReservation("alpha", "1", noon.Add(-time.Minute))
	w.Snap.Jobs[0].NodeCount, w.Snap.Jobs[0].Reservation = 7, door
	w.reserve(door, 14*time.Minute, "alpha-a3-[0-6]", "PURGE_COMP=00:05:00")
	w.Snap.Jobs[1].Account, w.Snap.Jobs[1].NodeCount, w.Snap.Jobs[1].Planned, w.Snap.Jobs[1].Start = "ml", 1, nil, time.Time{}
	doors, held = w.doors()
	assert.Empty(t, doors)
	assert.Contains(t, held[2], "56 of 60 GPU hours of November are used or reserved", "by a door that has no request yet")
}
