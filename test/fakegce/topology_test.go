package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/must"
)

func TestLargeRunningVMShowsItsHostUntilItStops(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(10 * time.Second)
	v := w.instance("us-central1-a", "n0")
	assert.Nil(t, v.GetResourceStatus().GetPhysicalHostTopology(), "it boots")
	w.Advance(10 * time.Second)
	v = w.instance("us-central1-a", "n0")
	at := v.GetResourceStatus().GetPhysicalHostTopology()
	assert.Equal(t, "us-central1-a-cluster-1", at.GetCluster())
	assert.Len(t, at.GetBlock()+at.GetSubblock()+at.GetHost(), 3*32)
	assert.NotEmpty(t, v.GetResourceStatus().GetScheduling().GetTerminationTimestamp())
}

func TestSmallVMShowsItsHostIfItsGroupHasAPolicy(t *testing.T) {
	for policy, shown := range map[string]bool{`{}`: false, `{"resourcePolicies":{"workloadPolicy":"regions/us-central1/resourcePolicies/wp"}}`: true} {
		w := newWorld(t, slow())
		must.Get(w.AddTemplate(testRegion, FlexTemplate("g2", "g2-standard-48")))
		w.post("regions/us-central1/resourcePolicies", `{"name":"wp","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
		w.post(groupList, changed(t, changed(t, plainGroup, `{"versions":[{"instanceTemplate":"projects/demo/regions/us-central1/instanceTemplates/g2"}]}`), policy))
		w.Advance(time.Minute)
		w.givenRequest("m", "r", "n0")
		w.Advance(time.Minute)
		zone := w.State().Instances[0].Zone
		v := w.instance(zone, "n0")
		assert.Equal(t, "RUNNING", v.GetStatus())
		assert.Equal(t, shown, v.GetResourceStatus().GetPhysicalHostTopology() != nil, policy)
	}
}

func TestHostIsGivenAgainOnOrder(t *testing.T) {
	for _, again := range []bool{true, false} {
		w := granted(t, slow(), "n0")
		host := func() string {
			w.Advance(time.Minute)
			return w.instance("us-central1-a", "n0").GetResourceStatus().GetPhysicalHost()
		}
		first := host()
		assert.Regexp(t, "^[0-9a-f]+/[0-9a-f]+/[0-9a-f]+$", first)
		if again {
			w.commanded("POST", "vms/n0/same-host", "")
		}
		w.post(groupList+"/m/deleteInstances", `{"instances":["zones/us-central1-a/instances/n0"]}`)
		w.Advance(time.Minute)
		w.givenRequest("m", "r2", "n0")
		assert.Equal(t, again, host() == first)
	}
}
