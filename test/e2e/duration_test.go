//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/lab"
)

func TestJobWithoutUseJobDurationGetsTheMaximumLease(t *testing.T) {
	l := withDaemon(t)
	id := submit(t, l, "-p", "fixed", "-N1", "--time=15")
	request := awaitRequest(t, l, "alpha-g2-job-"+id)
	assert.Equal(t, time.Hour, request.Duration, "max_run_duration")
	awaitDone(t, l, id)
}

// The longest possible lease.
const week = 7 * 24 * time.Hour

func TestLeaseMatchesItsJobsTimeLimits(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, LongJobs: true, NodeSets: []lab.NodeSet{
		{Name: "capped", Machine: "g2-standard-4", Size: 2, FlexKeys: "use_job_duration: true, max_run_duration: 1200"},
		{Name: "margin", Machine: "g2-standard-48", Size: 2, FlexKeys: "use_job_duration: true"},
	}})
	shut(t, l)
	for name, c := range map[string]struct {
		set, partition, limit string
		want                  time.Duration
	}{
		"without a time limit for the longest that there is": {"a3", "train", "", week},
		"UNLIMITED for the longest that there is":            {"a3", "train", "--time=UNLIMITED", week},
		"under ten minutes for ten minutes":                  {"a3", "train", "--time=5", 10 * time.Minute},
		"over max_run_duration for max_run_duration":         {"capped", "capped", "--time=60", 20 * time.Minute},
		"and ten minutes more than that by default":          {"margin", "margin", "--time=15", 25 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"-p", c.partition, "-N1"}
			if c.limit != "" {
				args = append(args, c.limit)
			}
			id := submit(t, l, args...)
			awaitLease(t, l, "alpha-"+c.set+"-job-"+id, c.want)
			withdraw(t, l, id)
		})
	}
	for name, check := range map[string]func(*testing.T, *lab.Lab){
		"for an array each task's own":                             leasesOfAnArray,
		"for a heterogeneous job each component's own":             leasesOfAHeterogeneousJob,
		"with --time-min what Slurm has allocated":                 leaseOfAJobWithTimeMin,
		"a limit that is raised while it waits is asked again":     leaseOfAJobThatIsGivenMoreTime,
		"its owner is notified of the end of a longer job's nodes": endOfAJobThatIsTooLong,
	} {
		t.Run(name, func(t *testing.T) { check(t, l) })
	}
	awaitNothingLeft(t, l)
}

func leasesOfAnArray(t *testing.T, l *lab.Lab) {
	array := submit(t, l, "-p", "train", "-N1", "--time=12", "--array=0-1")
	group := "alpha-a3-arr-" + array
	for _, request := range []string{"a1", "a2"} {
		r := awaitRequestState(t, l, group, request, "ACCEPTED")
		assert.Len(t, r.Instances, 1)
		assert.Equal(t, 12*time.Minute, r.Duration)
	}
	withdraw(t, l, array)
}

func leasesOfAHeterogeneousJob(t *testing.T, l *lab.Lab) {
	leader := submitScript(t, l, "sleep 600", "-p", "train", "-N1", "--time=11", ":", "-p", "train", "-N2", "--time=13")
	number, err := strconv.Atoi(leader)
	require.NoError(t, err)
	assert.Len(t, awaitLease(t, l, fmt.Sprint("alpha-a3-job-", number+1), 13*time.Minute).Instances, 2)
	capacity(t, l, "", 2)
	defer shut(t, l)
	assert.Len(t, awaitLease(t, l, fmt.Sprint("alpha-a3-job-", number), 11*time.Minute).Instances, 1)
	withdraw(t, l, leader)
}

func leaseOfAJobWithTimeMin(t *testing.T, l *lab.Lab) {
	run(t, l, "scontrol", "create", "reservation", "reservationname=works", "starttime=now+30minutes", "duration=60",
		"nodes=alpha-a3-7", "users=root", "flags=maint")
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-7", "-N1", "--time=60", "--time-min=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+id)
	allocated := slurm.ParseLimit(jobField(t, l, id, "TimeLimit"))
	assert.Equal(t, allocated.Duration, request.Duration)
	assert.Less(t, request.Duration, 60*time.Minute)
	assert.GreaterOrEqual(t, request.Duration, 15*time.Minute)
	withdraw(t, l, id)
	run(t, l, "scontrol", "delete", "reservation=works")
}

func leaseOfAJobThatIsGivenMoreTime(t *testing.T, l *lab.Lab) {
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	group := "alpha-a3-job-" + id
	first := awaitLease(t, l, group, 15*time.Minute)
	update(t, l, "jobid="+id, "timelimit=30")
	second := awaitLease(t, l, group, 30*time.Minute)
	assert.NotEqual(t, first.Name, second.Name)
	awaitRequestState(t, l, group, first.Name, "CANCELLED")
	update(t, l, "jobid="+id, "timelimit=20")
	awaitPasses(t, l, 2)
	assert.Equal(t, second.Name, awaitLease(t, l, group, 30*time.Minute).Name, "a limit that is lowered changes nothing")
	withdraw(t, l, id)
}

func endOfAJobThatIsTooLong(t *testing.T, l *lab.Lab) {
	capacity(t, l, "g2-standard-4", 1)
	id := submitScript(t, l, "sleep 600", "-p", "capped", "-N1", "--time=60")
	awaitTold(t, l, 2*time.Minute, id, `end at .*Z, before its time limit`)
	withdraw(t, l, id)
}
