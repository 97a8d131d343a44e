//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

func TestWaitOutlastsResumeTimeoutAndNotifiesTheOwner(t *testing.T) {
	t.Parallel()
	for name, daemon := range map[string]bool{"with a daemon": true, "with cron's sync alone": false} {
		t.Run(name, func(t *testing.T) {
			l := cluster(t, lab.Options{Daemon: daemon, ResumeTimeout: 45})
			shut(t, l)
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			for begun := time.Now(); time.Since(begun) < 80*time.Second; time.Sleep(5 * time.Second) {
				if !daemon {
					slurmflex(t, l, "sync")
				}
			}
			assert.Regexp(t, `^flex-start: waiting since [0-9TZ:-]+ for 2 × a3-megagpu-8g for 00:15:00; last attempt: no capacity`,
				jobField(t, l, id, "AdminComment"))
			capacity(t, l, "", 8)
			awaitCompleted(t, l, id)
			assertNotRequeued(t, l, id)
			if !daemon {
				slurmflex(t, l, "sync")
			}
			awaitNothingLeft(t, l)
		})
	}
}

func TestJobCommentShortensItsWait(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "provision_timeout: 3600"})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "--comment=run 3, slurmflex:wait=10s")
	awaitJob(t, l, time.Minute, id, "Reason", "JobHeldAdmin")
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "(slurmflex:wait 00:00:10)")
	cancelForGood(t, l, id)

	ended := submit(t, l, "-p", "train", "-N2", "--time=15", "--comment=slurmflex:wait=10s,cancel")
	awaitJob(t, l, time.Minute, ended, "JobState", "CANCELLED")
	awaitNothingLeft(t, l)
}

func TestBulkInsertCreatesInstancesWithoutAGroup(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 2*time.Minute, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	assert.Empty(t, state(t, l).Groups)
	awaitDone(t, l, id)
}
