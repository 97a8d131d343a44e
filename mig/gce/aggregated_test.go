package gce_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

const (
	europe = "europe-west4"
	list   = "instances.aggregatedList"
)

// zonesInUse are the zones that these tests configure.
var zonesInUse = []string{"us-central1-a", "us-central1-b", "europe-west4-a", "europe-west4-b"}

// spread creates machine alpha-a3-0 in us-central1-b and machine alpha-eu-0 in europe-west4-a, and
// returns a new client that has read nothing yet.
func spread(t *testing.T, w world) {
	t.Helper()
	template, err := w.cloud.AddTemplate(europe, fakegce.FlexTemplate("a3", machine))
	require.NoError(t, err)
	make := func(group, region, template, zone, node string) {
		spec := w.spec(group, 1)
		spec.Region, spec.Template, spec.Zones = region, template, []string{zone}
		require.NoError(t, w.CreateGroup(t.Context(), spec))
		require.NoError(t, w.CreateRequest(t.Context(), region, group, request(node)))
	}
	make("alpha-x", region, w.template, "us-central1-b", "alpha-a3-0")
	make("alpha-eu", europe, template, "europe-west4-a", "alpha-eu-0")
	time.Sleep(time.Minute)
}

// readZones reads the instances of both regions.
func readZones(t *testing.T, w world) (names []string, unseen map[string]error) {
	t.Helper()
	instances, unseen := w.Instances(t.Context(), "alpha", []string{region, europe}, zonesInUse...)
	for _, in := range instances {
		assert.Empty(t, in.Unread)
		assert.NotEmpty(t, in.Group)
		names = append(names, in.Name)
	}
	return names, unseen
}

func dead(zone string) func(*testing.T, world) {
	return func(_ *testing.T, w world) { w.cloud.SetZoneDead(zone, true) }
}

func struck(f fakegce.Fault) func(*testing.T, world) {
	return func(t *testing.T, w world) { require.NoError(t, w.cloud.AddFault(f)) }
}

func TestUnreadableZoneAffectsOnlyItsRegion(t *testing.T) {
	both, american, european := []string{"alpha-a3-0", "alpha-eu-0"}, []string{"alpha-a3-0"}, []string{"alpha-eu-0"}
	for name, test := range map[string]struct {
		switches fakegce.Switches
		happens  func(*testing.T, world)
		reads    []string // names
		apart    bool     // the zones were listed one by one
		says     string   // why the other region is unseen
	}{
		"partial success":            {happens: dead("us-central1-a"), reads: european, says: "unreachable: "},
		"partial success is refused": {switches: fakegce.Switches{RefusePartialSuccess: true}, happens: dead("us-central1-a"), reads: european, apart: true, says: "zone us-central1-a: 503 backendError"},
		"partial without asking":     {switches: fakegce.Switches{RefusePartialSuccess: true, PartialUnasked: true}, happens: dead("us-central1-a"), reads: european, says: "unreachable: "},
		"a warning about all":        {switches: fakegce.Switches{WarnOfAll: true}, happens: dead("us-central1-a"), reads: european, apart: true, says: "zone us-central1-a: 503 backendError"},
		"a zone without nodesets":    {happens: dead("us-central1-f"), reads: both},
		"such a zone, refused":       {switches: fakegce.Switches{RefusePartialSuccess: true}, happens: dead("us-central1-f"), reads: both, apart: true},
		"the list fails":             {happens: struck(fakegce.Fault{Method: list, Status: 503}), reads: both, apart: true},
		"the list is not known":      {happens: struck(fakegce.Fault{Method: list, Status: 400, Message: "Bad Request"}), reads: both, apart: true},
		"the second page fails":      {happens: struck(fakegce.Fault{Method: list, Skip: 1, Status: 500}), reads: both, apart: true},
		"the list hangs":             {happens: struck(fakegce.Fault{Method: list, Delay: time.Hour}), reads: both, apart: true},
		"a zone hangs too": {
			happens: func(t *testing.T, w world) {
				struck(fakegce.Fault{Method: list, Status: 503})(t, w)
				struck(fakegce.Fault{Method: "instances.list", Object: "europe-west4-b", Delay: time.Hour})(t, w)
			}, reads: american, apart: true, says: "zone europe-west4-b: ",
		},
		"a list may not be read": {happens: struck(fakegce.Fault{Method: list, Status: 403}), says: "403 forbidden"},
		"too many calls":         {happens: struck(fakegce.Fault{Method: list, Status: 429}), says: "429 rateLimitExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				spread(t, w)
				test.happens(t, w)
				for range 2 {
					names, unseen := readZones(t, w)
					assert.Equal(t, test.reads, names)
					assert.Len(t, unseen, 2-len(test.reads))
					for _, err := range unseen {
						assert.ErrorContains(t, err, test.says)
					}
					assert.Equal(t, test.apart, w.cloud.Counts()["instances.list"] > 0)
				}
			}, func(o *fakegce.Options) { o.Switches, o.PageLimit = test.switches, 1 })
		})
	}
}

func TestFailedAggregatedListIsRetriedAfterMinutes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		spread(t, w)
		w.Groups(t.Context(), "alpha", []string{region, europe})
		count := func() (together, apart int) {
			w.cloud.ResetCalls()
			_, unseen := readZones(t, w)
			assert.Empty(t, unseen)
			return w.cloud.Counts()[list], w.cloud.Counts()["instances.list"]
		}
		expect := func(together, apart int, why string) {
			t.Helper()
			a, b := count()
			assert.Equal(t, [2]int{together, apart}, [2]int{a, b}, why)
		}
		require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: list, Status: http.StatusServiceUnavailable}))
		expect(6, 4, "all attempts, then each zone")
		expect(0, 4, "it is known to fail")
		time.Sleep(6 * time.Minute)
		expect(1, 4, "one attempt shows that it fails still")
		expect(0, 4, "it is known to fail again")
		second := request("alpha-a3-1")
		second.Name = "a2"
		require.NoError(t, w.CreateRequest(t.Context(), region, "alpha-x", second))
		time.Sleep(time.Minute)
		expect(0, 4+1, "the new machine's zone names its creator")
		w.cloud.ClearFaults()
		expect(0, 4, "not yet proven to work")
		time.Sleep(6 * time.Minute)
		expect(1, 0, "it works")
	})
}

func TestUnreadableZoneGetsOneAttemptPerPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		spread(t, w)
		w.cloud.SetZoneDead("us-central1-b", true)
		readZones(t, w)
		w.cloud.ResetCalls()
		names, _ := readZones(t, w)
		assert.Equal(t, []string{"alpha-eu-0"}, names)
		assert.Equal(t, map[string]int{"instances.list": 4}, w.cloud.Counts())
		w.cloud.SetZoneDead("us-central1-b", false)
		names, unseen := readZones(t, w)
		assert.Empty(t, unseen)
		assert.Equal(t, []string{"alpha-a3-0", "alpha-eu-0"}, names)
	}, func(o *fakegce.Options) { o.Switches.RefusePartialSuccess = true })
}

func TestRejectedParameterIsNotSentAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, calls := range []int{2, 1} {
			w.cloud.ResetCalls()
			_, unseen := readZones(t, w)
			assert.Empty(t, unseen)
			assert.Equal(t, map[string]int{list: calls}, w.cloud.Counts())
		}
		err := w.TakesPartialSuccess(t.Context(), "alpha")
		assert.Equal(t, mig.CauseConfig, mig.CauseOf(err))
		require.ErrorContains(t, err, "returnPartialSuccess")
	}, func(o *fakegce.Options) { o.Switches.RefusePartialSuccess = true })
}

// A zone that was removed from the configuration may still have machines of the cluster.
func TestZoneWithKnownMachinesIsStillListed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		spread(t, w)
		_, unseen := w.Instances(t.Context(), "alpha", []string{region}, "us-central1-a")
		require.Empty(t, unseen)
		w.cloud.SetZoneDead("us-central1-b", true)
		for range 2 {
			_, unseen = w.Instances(t.Context(), "alpha", []string{region}, "us-central1-a")
			require.ErrorContains(t, unseen[region], "us-central1-b")
		}
	})
}

// E1: the known zones of a region survive passes in which the region cannot be read or is not
// requested.
func TestUsedZonesAreKeptWhileTheirRegionIsUnread(t *testing.T) {
	for name, between := range map[string]func(*testing.T, world){
		"the region is unread": func(t *testing.T, w world) {
			require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: list, Unreachable: []string{region}}))
			_, unseen := w.Instances(t.Context(), "alpha", []string{region}, "us-central1-a")
			require.Len(t, unseen, 1)
			w.cloud.ClearFaults()
		},
		"another region is read": func(t *testing.T, w world) {
			_, unseen := w.Instances(t.Context(), "alpha", []string{europe}, "europe-west4-a")
			require.Empty(t, unseen)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				spread(t, w)
				_, unseen := w.Instances(t.Context(), "alpha", []string{region}, "us-central1-a")
				require.Empty(t, unseen)
				between(t, w)
				w.cloud.SetZoneDead("us-central1-b", true)
				_, unseen = w.Instances(t.Context(), "alpha", []string{region}, "us-central1-a")
				require.ErrorContains(t, unseen[region], "us-central1-b")
			})
		})
	}
}

// E1: a call with a single attempt, because its last one failed, is still repeated after a
// rate-limit error.
func TestRateLimitAfterAnOutageDoesNotFailThePass(t *testing.T) {
	for _, status := range []fakegce.Fault{{Status: http.StatusTooManyRequests}, {Status: http.StatusForbidden, Reason: "rateLimitExceeded"}} {
		inWorld(t, func(t *testing.T, w world) {
			spread(t, w)
			require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: list, Status: http.StatusServiceUnavailable}))
			_, unseen := readZones(t, w)
			require.Empty(t, unseen)
			w.cloud.ClearFaults()
			time.Sleep(6 * time.Minute)
			status.Method, status.Times = list, 1
			require.NoError(t, w.cloud.AddFault(status))
			names, unseen := readZones(t, w)
			assert.Empty(t, unseen)
			assert.Len(t, names, 2)
		})
	}
}
