package history

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/slurm"
)

var both = []string{"alpha-a3-0", "alpha-a3-1"}

// waiting returns a world with job 812, which waits for two nodes since noon.
func waiting(t *testing.T) *world {
	w := newWorld(t)
	w.accounts[812] = "ml"
	w.job(812, slurm.JobConfiguring, noon, both...)
	w.asked(mig.Accepted, noon, both...)
	w.later(1)
	return w
}

// failure is job 812's first request, which has failed.
func failure(cause mig.Cause) mig.Request {
	failed := request("a1", mig.Failed, noon, both...)
	failed.Cause = cause
	return failed
}

func TestWaitIsGrantedWithItsFirstMachine(t *testing.T) {
	w := waiting(t)
	w.look(2 * time.Hour)
	w.asked(mig.Succeeded, noon, both...)
	w.Machine("alpha-a3-0", group)
	w.Machine("alpha-a3-1", group)
	w.look(20 * time.Second)
	w.later(60)
	want := granted("us-central1/alpha-a3-job-812/a1@1795262400")
	want.To = minutes(121)
	assert.Equal(t, want, w.only(Wait))
}

func TestTemporarilyFailedAttemptsAreOneWait(t *testing.T) {
	w := waiting(t)
	failed := failure(mig.CauseCapacity)
	w.requests(812, failed)
	w.later(60)
	w.pending(812) // requeued
	w.later(60)
	second := at(3 * 60)
	w.requests(812, failed, request("a2", mig.Accepted, second, both...))
	w.look(2 * time.Hour)
	w.requests(812, request("a2", mig.Succeeded, second, both...)) // the record of a1 is deleted
	w.Machine("alpha-a3-0", group)
	w.later(1)
	e := w.only(Wait)
	assert.Equal(t, At(noon), e.From)
	assert.Equal(t, 2, e.Attempts)
	assert.Equal(t, mig.CauseCapacity, e.Cause)
	assert.Equal(t, Granted, e.End)
}

func TestWaitThatEndedDuringStandbyGetsNoLine(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted, noon, node)
	w.later(1)
	w.asked(mig.Cancelled, noon, node)
	w.returns(5 * 24 * time.Hour)
	lines, ongoing := w.all(Wait)
	assert.Empty(t, lines)
	assert.Empty(t, ongoing)
}

func TestUnwantedWaitIsWithdrawn(t *testing.T) {
	w := waiting(t)
	w.Snap.Jobs = nil
	w.requests(812) // its group is gone
	w.look(0)
	w.later(2)
	w.later(60)
	e := w.only(Wait)
	assert.Equal(t, Withdrawn, e.End)
	assert.Equal(t, minutes(1), e.To)
	assert.Equal(t, "ada", e.User, "as it was while the job was there")
}

func TestWaitEndsWithAPermanentFailureOrWithItsJob(t *testing.T) {
	happens(t, waiting, map[string]func(*world){
		"a permanent cause": func(w *world) {
			w.requests(812, failure(mig.CausePermission))
		},
		"the job leaves after a failed attempt": func(w *world) {
			w.requests(812, failure(mig.CauseQuota))
			w.look(0)
			assert.Empty(w, w.read(Wait), "another attempt follows")
			w.Snap.Jobs = nil
		},
	}, func(w *world) {
		w.later(60)
		w.later(60)
		assert.Equal(w, Withdrawn, w.only(Wait).End)
	})
}

func TestRequestAfterACancelledOneIsANewWait(t *testing.T) {
	w := waiting(t)
	later := at(60)
	w.requests(812, request("a1", mig.Cancelled, noon, both...), request("a2", mig.Accepted, later, both...))
	w.later(60)
	assert.Equal(t, Withdrawn, w.only(Wait).End)
	_, waits := w.all(Wait)
	require.Len(t, waits, 1)
	assert.Equal(t, At(later), waits[0].From)
	assert.Empty(t, waits[0].End)
}

func TestUnreadOrWrongListEndsNothing(t *testing.T) {
	w := waiting(t)
	w.Machine("alpha-a3-9", group)
	w.later(1)
	groups, machines := w.Snap.Groups, w.Snap.Instances
	for unseen, lasts := range map[error]time.Duration{nil: time.Second, errors.New("503"): time.Hour} {
		w.Snap.Unseen, w.Snap.Groups, w.Snap.Instances = map[string]error{us: unseen}, nil, nil
		w.look(time.Second)
		w.look(lasts)
		w.Snap.Unseen, w.Snap.Groups, w.Snap.Instances = nil, groups, machines
		w.later(60)
		w.later(60)
	}
	assert.Empty(t, w.read(Wait))
	assert.Empty(t, w.read(Lease))
}

func TestEarlierWaitIsRecordedOnlyIfItsMachinesExist(t *testing.T) {
	w := newWorld(t)
	w.dir = t.TempDir()
	w.requests(812, request("a1", mig.Cancelled, noon, both...), request("a2", mig.Succeeded, at(1), "alpha-a3-7"),
		request("a3", mig.Succeeded, at(1), "alpha-a3-0"))
	w.Snap.Now = at(60)
	w.Machine("alpha-a3-0", group)
	w.restart()
	w.later(60)
	w.later(60)
	e := w.only(Wait)
	assert.Equal(t, "us-central1/alpha-a3-job-812/a3@1795262460", e.ID)
	assert.Equal(t, minutes(60), e.To)
}
