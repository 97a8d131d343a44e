package plan_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/test/scenetest"
)

// ahead formats the queue positions of jobs.
func (w severalPlaces) ahead(jobs ...uint32) (all []string) {
	s := w.Scene()
	line := plan.Line(s, plan.Compute(s))
	for _, id := range jobs {
		text := fmt.Sprint(id, ":")
		for _, a := range line[id] {
			text += fmt.Sprintf(" %s %d nodes %d jobs", a.NodeSet, a.Nodes, a.Jobs)
		}
		all = append(all, text)
	}
	return all
}

func TestJobsWaitInTheOrderOfRequests(t *testing.T) {
	w := newSeveralPlaces()
	w.waits(10 * time.Minute)
	w.Requested(7, "alpha-us-[0-1]", 10*time.Minute)
	w.submit(8, "us")
	w.submit(9, "us")
	assert.Equal(t, []string{"7: us 0 nodes 0 jobs eu 0 nodes 0 jobs", "8: us 6 nodes 2 jobs", "9: us 4 nodes 1 jobs"}, w.ahead(7, 8, 9),
		"job 7 has a request, and job 9 more priority than job 8")

	w.Snap.Templates[w.Config.FlexSetOf("alpha-us-0").Template] = scenetest.FlexTemplate("a3-megagpu-8g")
	assert.Equal(t, []string{"8: us 4 nodes 2 jobs", "9: us 2 nodes 1 jobs"}, w.ahead(8, 9), "another machine type")
	w.Snap.Templates[w.Config.FlexSetOf("alpha-us-0").Template] = scene.Template{}
	assert.Equal(t, []string{"8:", "9:"}, w.ahead(8, 9), "the machine type is unknown")
}

func TestOnlyJobsThatLackOnlyNodesWaitInLine(t *testing.T) {
	w := newSeveralPlaces()
	w.submit(8, "us").Reason = "Dependency"
	w.submit(9, "us").Reason = "Licenses"
	tasks := w.submit(10, "us")
	tasks.ArrayTask, tasks.NodeCount = "0-9%3", 1
	assert.Equal(t, []string{"7: us 3 nodes 3 jobs eu 3 nodes 3 jobs od 3 nodes 3 jobs", "8:", "9:", "10: us 0 nodes 0 jobs"}, w.ahead(7, 8, 9, 10))
	w.Snap.Late = map[uint32]scene.Late{10: {Until: noon.Add(time.Minute), Reason: "Licenses"}}
	assert.Equal(t, []string{"7: us 0 nodes 0 jobs eu 0 nodes 0 jobs od 0 nodes 0 jobs", "10:"}, w.ahead(7, 10), "it did not start on its machines")
	w.Snap.Late = nil
	w.Snap.Unseen[scenetest.US] = errors.New("503")
	assert.Equal(t, []string{"7:", "10:"}, w.ahead(7, 10), "requests of an unread region are unknown")
}
