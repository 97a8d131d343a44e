package estimate

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/test/scenetest"
)

// The history has a wait for each request of a shared group, and one for a request and the attempts
// that failed just before it.
func TestEstimateOfAJobIsAboutItsRequest(t *testing.T) {
	now := scenetest.Noon
	at := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	cfg := scenetest.Cluster("partitions: {train: {partition_nodeset: [a3]}}", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 100", ""))
	failed := view.Request{Name: "a1", State: "FAILED", Cause: "capacity", Count: 2, CreatedAt: at(50)}
	refused := view.Request{Name: "a0", State: "FAILED", Cause: "permission", Count: 2, CreatedAt: at(55)}
	own, shared := view.Group{Name: "g", Job: 812}, view.Group{Name: "g", Array: 812}
	for name, test := range map[string]struct {
		group            view.Group
		requests         []view.Request
		request          string
		together, waited int64
	}{
		"no request":                {own, nil, "", 2, 0},
		"first request":             {own, []view.Request{{Name: "a2", Count: 2, CreatedAt: at(20)}}, "a2", 2, 20},
		"after a failure":           {own, []view.Request{refused, failed, {Name: "a2", Count: 2, CreatedAt: at(20)}}, "a2", 2, 50},
		"between two attempts":      {own, []view.Request{failed}, "", 2, 50},
		"shared with other jobs":    {shared, []view.Request{failed, {Name: "a2", Count: 50, CreatedAt: at(20)}}, "a2", 50, 20},
		"shared, but not requested": {shared, []view.Request{failed}, "", 2, 0},
	} {
		test.group.Requests = test.requests
		row := view.Row{NodeSet: "a3", Jobs: []uint32{812}, Nodes: scenetest.Names("alpha-a3-[0-1]"), Count: 2, State: view.Queued, Group: "g", Request: test.request, Since: at(60), Lease: view.Seconds(2 * time.Hour)}
		if test.request != "" {
			row.RequestedAt = at(20)
		}
		v := view.View{Jobs: []view.Job{{ID: 812, Partition: "train", NodeCount: 2, State: "CONFIGURING"}}, Rows: []view.Row{row}, Groups: []view.Group{test.group}}
		report, err := OfJob(cfg, &v, "812", true, now)
		require.NoError(t, err, name)
		require.Len(t, report.Estimates, 1, name)
		a := report.Estimates[0]
		assert.EqualValues(t, test.together, a.Nodes, name)
		assert.Equal(t, 60*test.waited, a.Waited, name)
		assert.Equal(t, test.together == 50, strings.Contains(a.String(), ", shared request, waiting for 20m: too few past requests"), name)
	}
}
