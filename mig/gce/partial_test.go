package gce_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// everything holds all data that a pass reads from the cloud.
type everything struct {
	groups    []mig.Group
	instances []mig.Instance
	policies  []mig.Policy
	unseen    map[string]string
}

func readAll(t *testing.T, c *gce.Client) (e everything) {
	t.Helper()
	regions := []string{region, "europe-west4"}
	e.unseen = map[string]string{}
	note := func(what string, unseen map[string]error) {
		for r, err := range unseen {
			e.unseen[what+" "+r] = err.Error()
		}
	}
	var unseen map[string]error
	e.groups, unseen = c.Groups(t.Context(), "alpha", regions)
	note("groups", unseen)
	e.instances, unseen = c.Instances(t.Context(), "alpha", regions)
	note("instances", unseen)
	e.policies, unseen = c.Policies(t.Context(), "alpha", regions)
	note("policies", unseen)
	return e
}

func TestMachineMetadataIsReadOnce(t *testing.T) {
	inWorld(t, func(w world) {
		ask := func(group string, job uint32, nodes ...string) {
			w.grown(w.spec(group, job), nodes...)
			time.Sleep(time.Minute)
		}
		// read returns the machines' groups, and the filters of the lists with metadata.
		read := func() (groups, filters []string) {
			_, unseen := w.Groups(w.Context(), "alpha", []string{region})
			require.Empty(w, unseen)
			w.cloud.ResetCalls()
			for _, in := range w.seen() {
				groups = append(groups, in.Group)
			}
			for _, call := range w.cloud.Calls() {
				query := must.Get(url.ParseQuery(call.Query))
				if strings.HasSuffix(call.Path, "us-central1-a/instances") && strings.Contains(query.Get("fields"), "metadata") {
					filters = append(filters, query.Get("filter"))
				}
			}
			return groups, filters
		}

		ask("alpha-x", 1, "alpha-a3-0", "alpha-a3-1", "alpha-a3-2")
		groups, filters := read()
		assert.Equal(w, []string{"alpha-x", "alpha-x", "alpha-x"}, groups)
		assert.Len(w, filters, 1)
		again, filters := read()
		assert.Equal(w, groups, again)
		assert.Empty(w, filters)

		ask("alpha-y", 2, "alpha-a3-3")
		groups, filters = read()
		assert.Equal(w, []string{"alpha-x", "alpha-x", "alpha-x", "alpha-y"}, groups)
		assert.Equal(w, []string{`name eq "(alpha-a3-3)"`}, filters, "of the new one alone")

		require.NoError(w, w.DeleteInstances(w.Context(), region, "alpha-y", w.seen()[3:]))
		time.Sleep(time.Minute)
		ask("alpha-z", 3, "alpha-a3-3")
		groups, _ = read()
		assert.Equal(w, "alpha-z", groups[3], "a machine of the same name is another one")

		time.Sleep(time.Hour)
		again, filters = read()
		assert.Equal(w, groups, again)
		assert.Empty(w, filters)
	})
}

// newcomer creates a new machine alpha-a3-1, not yet listed, in a group with a known machine.
func (w world) newcomer() {
	w.Helper()
	w.asked()
	time.Sleep(time.Minute)
	w.group()
	require.Len(w, w.seen(), 1)
	require.NoError(w, w.CreateRequest(w.Context(), region, "alpha-x", mig.RequestSpec{Name: "a2", Instances: []string{"alpha-a3-1"}, Duration: time.Hour}))
	time.Sleep(time.Minute)
}

// secondly is a fault of the second list of zone us-central1-a in a pass, which shows the makers of
// new machines.
func secondly(f fakegce.Fault) fakegce.Fault {
	f.Method, f.Object, f.Skip, f.Times = list, "us-central1-a", 1, 1
	return f
}

func TestRegionWithUnreadableNewMachinesIsUnseen(t *testing.T) {
	inWorld(t, func(w world) {
		w.newcomer()
		w.fault(secondly(fakegce.Fault{Status: http.StatusForbidden, Reason: "forbidden", Message: "no permission"}))
		instances, err := w.instances()
		assert.Empty(w, instances)
		require.ErrorContains(w, err, "no permission")
	})
}

func TestNewMachineMissingFromTheSecondListIsUnread(t *testing.T) {
	inWorld(t, func(w world) {
		w.newcomer()
		w.fault(secondly(fakegce.Fault{Omitted: "alpha-a3-1"}))
		instances := w.seen()
		require.Len(w, instances, 2)
		assert.Empty(w, instances[0].Unread)
		assert.Equal(w, "metadata: not listed", instances[1].Unread, "and nothing is done to it")
		instances = w.seen()
		assert.Empty(w, instances[1].Unread)
		assert.Equal(w, "alpha-x", instances[1].Group)
	})
}
