package gce_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

const (
	europe = "europe-west4"
	list   = "instances.list"
)

// zonesInUse are the zones that these tests configure.
var zonesInUse = []string{"us-central1-a", "us-central1-b", "europe-west4-a", "europe-west4-b"}

// spread creates machine alpha-a3-0 in us-central1-b and machine alpha-eu-0 in europe-west4-a, and
// returns a new client that has read nothing yet.
func (w world) spread() {
	w.Helper()
	template := must.Get(w.cloud.AddTemplate(europe, fakegce.FlexTemplate("a3", machine)))
	make := func(group, region, template, zone, node string) {
		spec := w.spec(group, 1)
		spec.Region, spec.Template, spec.Zones = region, template, []string{zone}
		w.grown(spec, node)
	}
	make("alpha-x", region, w.template, "us-central1-b", "alpha-a3-0")
	make("alpha-eu", europe, template, "europe-west4-a", "alpha-eu-0")
	time.Sleep(time.Minute)
}

// readZones reads the instances of both regions.
func (w world) readZones() (names []string, unseen map[string]error) {
	w.Helper()
	instances, unseen := w.Instances(w.Context(), "alpha", []string{region, europe}, zonesInUse...)
	for _, in := range instances {
		assert.Empty(w, in.Unread)
		assert.NotEmpty(w, in.Group)
		names = append(names, in.Name)
	}
	return names, unseen
}

func dead(zone string) func(world) {
	return func(w world) { w.cloud.SetZoneDead(zone, true) }
}

func struck(f fakegce.Fault) func(world) {
	return func(w world) { w.fault(f) }
}

// in limits a fault to the list of a zone.
func in(zone string, f fakegce.Fault) func(world) {
	f.Method, f.Object = list, zone
	return struck(f)
}

// E1: a zone that does not answer costs its own region, and none if nothing of the cluster is there.
func TestUnreadableZoneAffectsOnlyItsRegion(t *testing.T) {
	both, american, european := []string{"alpha-a3-0", "alpha-eu-0"}, []string{"alpha-a3-0"}, []string{"alpha-eu-0"}
	for name, test := range map[string]struct {
		happens func(world)
		reads   []string // names
		says    string   // why the other region is unseen
		within  time.Duration
	}{
		"all is well":           {reads: both},
		"a dead zone":           {happens: dead("us-central1-a"), reads: european, says: "zone us-central1-a: 503 backendError", within: time.Minute},
		"an unused dead zone":   {happens: dead("us-central1-f"), reads: both},
		"an unused zone hangs":  {happens: in("us-central1-f", fakegce.Fault{Delay: time.Hour}), reads: both, within: 5 * time.Second},
		"an unused zone warns":  {happens: in("us-central1-f", fakegce.Fault{Warning: "PARTIAL"}), reads: both},
		"a used zone warns":     {happens: in("europe-west4-b", fakegce.Fault{Warning: "PARTIAL"}), reads: american, says: "zone europe-west4-b: incomplete answer: PARTIAL"},
		"a used zone hangs":     {happens: in("europe-west4-b", fakegce.Fault{Delay: time.Hour}), reads: american, says: "zone europe-west4-b: ", within: 4 * time.Minute},
		"its zones are unknown": {happens: struck(fakegce.Fault{Method: "regions.get", Status: 503}), reads: both},
		"all lists are refused": {happens: struck(fakegce.Fault{Method: list, Status: 403}), says: "403 forbidden"},
		"too many calls":        {happens: struck(fakegce.Fault{Method: list, Status: 429}), says: "429 rateLimitExceeded", within: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w world) {
				w.spread()
				if test.happens != nil {
					test.happens(w)
				}
				begun := time.Now()
				for n := range 2 {
					names, unseen := w.readZones()
					assert.Equal(w, test.reads, names)
					assert.Len(w, unseen, 2-len(test.reads))
					for _, err := range unseen {
						assert.ErrorContains(w, err, test.says)
					}
					if n == 0 {
						assert.LessOrEqual(w, time.Since(begun), test.within)
					}
				}
			}, func(o *fakegce.Options) { o.PageLimit = 1 })
		})
	}
}

func TestUnusedZoneThatFailsIsLeftOutForMinutes(t *testing.T) {
	inWorld(t, func(w world) {
		w.spread()
		w.cloud.SetZoneDead("us-central1-f", true)
		reads := func() int {
			w.cloud.ResetCalls()
			_, unseen := w.readZones()
			require.Empty(w, unseen)
			return w.cloud.Counts()[list]
		}
		w.Groups(w.Context(), "alpha", []string{region, europe}) // the machines' makers are ours
		all := reads()
		assert.Equal(w, all-1, reads())
		time.Sleep(6 * time.Minute)
		assert.Equal(w, all, reads(), "one attempt")
		assert.Equal(w, all-1, reads())
		w.cloud.SetZoneDead("us-central1-f", false)
		time.Sleep(6 * time.Minute)
		for range 2 {
			assert.Equal(w, all, reads())
		}
	})
}

func TestRegionWithoutKnownZonesIsReadCompletely(t *testing.T) {
	for name, happens := range map[string]func(world){
		"a zone is dead":           dead("us-central1-f"),
		"its zones cannot be read": struck(fakegce.Fault{Method: "regions.get", Status: 403}),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w world) {
				w.spread()
				happens(w)
				_, err := w.instances()
				require.Error(w, err)
			})
		})
	}
}

// E1: the zones with machines survive passes in which their region cannot be read or is not
// requested. Machines in a zone that is in no nodeset or group any more cost money, too.
func TestUsedZonesAreKeptWhileTheirRegionIsUnread(t *testing.T) {
	for name, between := range map[string]func(world){
		"nothing happens": func(world) {},
		"the region is unread": func(w world) {
			w.fault(fakegce.Fault{Method: list, Object: region, Status: 503})
			_, err := w.instances("us-central1-a")
			require.Error(w, err)
			w.cloud.ClearFaults()
		},
		"another region is read": func(w world) {
			_, unseen := w.Instances(w.Context(), "alpha", []string{europe}, "europe-west4-a")
			require.Empty(w, unseen)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w world) {
				w.spread()
				instances, err := w.instances("us-central1-a")
				require.NoError(w, err)
				assert.Equal(w, []string{"alpha-a3-0"}, mig.Names(instances))
				between(w)
				w.cloud.SetZoneDead("us-central1-b", true)
				for range 2 {
					_, err = w.instances("us-central1-a")
					require.ErrorContains(w, err, "us-central1-b")
				}
			})
		})
	}
}

// E1: a call with a single attempt, because its last one failed, is still repeated after a
// rate-limit error.
func TestRateLimitAfterAnOutageDoesNotFailThePass(t *testing.T) {
	for _, status := range []fakegce.Fault{{Status: http.StatusTooManyRequests}, {Status: http.StatusForbidden, Reason: "rateLimitExceeded"}} {
		inWorld(t, func(w world) {
			w.spread()
			w.cloud.SetZoneDead("us-central1-b", true)
			_, unseen := w.readZones()
			require.Len(w, unseen, 1)
			w.cloud.SetZoneDead("us-central1-b", false)
			status.Method, status.Object, status.Times = list, "us-central1-b", 1
			w.fault(status)
			names, unseen := w.readZones()
			assert.Empty(w, unseen)
			assert.Len(w, names, 2)
		})
	}
}
