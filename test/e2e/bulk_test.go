//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

func TestTheLegacyPathMakesInstancesWithoutAGroup(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	await(t, 60*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	assert.Empty(t, state(t, l).Groups)
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
}

func TestTheLegacyPathTellsOfAStockoutAndTriesAgain(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "use_bulk_insert: true"})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitTold(t, l, time.Minute, id, `attempt 1 failed.*resources`)
	assert.Equal(t, "CONFIGURING", jobField(t, l, id, "JobState"))
	capacity(t, l, "", 2)
	await(t, 100*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	awaitCompleted(t, l, id)
	assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
	assert.Empty(t, state(t, l).Groups)
	awaitNothingLeft(t, l)
}
