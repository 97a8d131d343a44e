package gce_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// bulk returns a bulk insert of two instances in the zones, with the world's template as read back.
func (w world) bulk(zones ...string) mig.BulkSpec {
	w.Helper()
	template, err := w.Template(w.Context(), w.template)
	require.NoError(w, err)
	return mig.BulkSpec{
		Region: region, Zones: zones, Template: template,
		Instances: []string{"alpha-a3-0", "alpha-a3-1"}, Model: mig.FlexStart, Duration: 2 * time.Hour,
		Stamp: mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 812},
	}
}

// instances reads the region's instances. zones are in use; none: all.
func (w world) instances(zones ...string) ([]mig.Instance, error) {
	instances, unseen := w.Instances(w.Context(), "alpha", []string{region}, zones...)
	return instances, unseen[region]
}

// seen returns the instances that the client sees.
func (w world) seen() []mig.Instance {
	w.Helper()
	instances, err := w.instances()
	require.NoError(w, err)
	return instances
}

func TestBulkInsertActsOncePerOccasion(t *testing.T) {
	for name, failed := range map[string]int{"processes know the same failures": 0, "they need not": 1} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w world) {
				w.cloud.SetCapacity("us-central1-a", machine, 2)
				b := w.bulk("us-central1-a", "us-central1-b")
				b.Occasion, b.Failed = "alpha-a3-job-812", failed
				cut, cancel := context.WithTimeout(w.Context(), time.Second)
				defer cancel()
				assert.Equal(w, mig.CauseUnavailable, mig.CauseOf(w.BulkInsert(cut, b)), "its process dies meanwhile")
				b.Failed = 0
				require.NoError(w, w.another().BulkInsert(w.Context(), b), "of a process that has seen none of it")
				time.Sleep(time.Minute)
				w.seen()
				require.NoError(w, w.BulkInsert(w.Context(), b), "lists may lag")
				assert.Equal(w, b.Instances, mig.Names(w.seen()))
			})
		})
	}
}

func TestBulkInsertActsAgainAfterAnOperationWithoutEffect(t *testing.T) {
	inWorld(t, func(w world) {
		const zone = "us-central1-b"
		b := w.bulk(zone)
		b.Occasion = "alpha-a3-job-812"
		fails := func(c *gce.Client) {
			w.Helper()
			w.cloud.SetCapacity(zone, machine, 0)
			assert.Equal(w, mig.CauseCapacity, mig.CauseOf(c.BulkInsert(w.Context(), b)))
			w.cloud.SetCapacity(zone, machine, 2)
			time.Sleep(10 * time.Second)
			w.seen()
		}
		fails(w.Client)
		fails(w.Client)
		require.NoError(w, w.BulkInsert(w.Context(), b), "two operations have failed")
		assert.Equal(w, b.Instances, mig.Names(w.seen()))

		require.NoError(w, w.DeleteVMs(w.Context(), w.seen()))
		time.Sleep(5 * time.Minute)
		require.Empty(w, w.seen())
		other := world{T: w.T, Client: w.another()}
		other.seen()
		require.NoError(w, other.BulkInsert(w.Context(), b), "of a process that has seen none of it")
		assert.Equal(w, b.Instances, mig.Names(w.seen()))
	})
}

func TestBulkInsertWithoutOccasionRepeatsOnlyItsUnknownCall(t *testing.T) {
	inWorld(t, func(w world) {
		w.cloud.SetCapacity("us-central1-a", machine, 2)
		b := w.bulk("us-central1-a", "us-central1-b")
		cut, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		assert.True(w, mig.IsUnknown(w.BulkInsert(cut, b)))
		require.NoError(w, w.BulkInsert(w.Context(), b))
		assert.Len(w, w.seen(), 2)
		require.NoError(w, w.BulkInsert(w.Context(), b), "the outcome of the last call is known")
		assert.Len(w, w.seen(), 4)
	})
}

func TestSpotMachinesAreCreatedUnlessTheyLackCapacity(t *testing.T) {
	inWorld(t, func(w world) {
		const zone = "us-central1-b"
		b := w.bulk(zone)
		b.Template = must.Get(w.Template(w.Context(), must.Get(w.cloud.AddTemplate(region, fakegce.PlainTemplate("plain", machine)))))
		b.Model, b.Duration = mig.Spot, 0
		must.Do(w.cloud.SetModelCapacity(zone, machine, mig.Spot, 1))
		assert.Equal(w, mig.CauseCapacity, mig.CauseOf(w.BulkInsert(w.Context(), b)), "one too few")
		assert.Empty(w, w.seen())

		b.Instances = b.Instances[:1]
		require.NoError(w, w.BulkInsert(w.Context(), b))
		time.Sleep(time.Minute)
		there := w.seen()
		require.Len(w, there, 1)
		assert.Equal(w, zone, there[0].Zone)
		assert.Equal(w, b.Stamp, there[0].Stamp)
		assert.Equal(w, mig.Spot, there[0].Model)
		assert.True(w, there[0].Until().IsZero(), "its lease is unlimited")
		must.Do(w.cloud.PreemptVM("alpha-a3-0"))
		time.Sleep(time.Second)
		assert.True(w, w.seen()[0].Preempted())
		time.Sleep(time.Minute)
		assert.Empty(w, w.seen())
	})
}
