package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// squat is a machine of somebody else's with the name of one of the cluster's
// nodes, for a while.
func squat(node string, how tenancy, lasts time.Duration) event {
	text := fmt.Sprintf("there is a machine %s, %s, for %v", node, how, lasts)
	return happening{text, func(w *world, no int) {
		for _, in := range w.cloud.State().Instances {
			if in.Name == node {
				return
			}
		}
		var err error
		if how == alikes {
			err = populate(w.cloud, alikesGroup, fmt.Sprintf("b%d", no), []string{node})
		} else {
			set := setOf(node)
			err = post(w.cloud, "/zones/"+set.zones[0]+"/instances/bulkInsert", map[string]any{
				"count": "1", "sourceInstanceTemplate": "projects/" + project + "/regions/" + set.region + "/instanceTemplates/flex",
				"perInstanceProperties": map[string]any{node: map[string]any{}},
			})
		}
		w.journal.note("%v: %v", text, err)
		if how == stopped {
			time.AfterFunc(w.setup.cloud.BootTime+w.setup.cloud.OperationTime+time.Minute, func() {
				if _, there := w.stranger(node); there {
					w.journal.note("machine %s of a stranger stops: %v", node, w.cloud.StopVM(node))
				}
			})
		}
		w.holds("squat "+node, no, lasts, func() { w.evict(node) })
	}}
}

// tenancy is whose the machine is, and what it does.
type tenancy string

// Whose a machine may be.
const (
	byHand  tenancy = "made by hand"
	stopped tenancy = "made by hand, and stopped"
	alikes  tenancy = "of slurm-gcp's cluster alpha-a3, nodeset pool"
)

// evict has the owner of a machine take it away, and try again while Compute refuses:
// until the machine runs, its request may have to be cancelled instead.
func (w *world) evict(node string) {
	in, there := w.stranger(node)
	if !there {
		return
	}
	w.faults.suffered(compute)
	address := "/zones/" + in.Zone + "/instances/" + node
	var err error
	if in.Group != "" {
		err = post(w.cloud, neighbourhood+"/"+in.Group+"/deleteInstances", map[string]any{
			"instances": []string{"projects/" + project + address},
		})
		time.AfterFunc(5*time.Minute, func() { w.evict(node) })
	} else {
		err = call(w.cloud, http.MethodDelete, address, nil)
	}
	w.journal.note("a stranger deletes his machine %s: %v", node, err)
}

// setOf is the nodeset of a node.
func setOf(node string) nodeSet {
	sets := nodeSets()
	return sets[slices.IndexFunc(sets, func(s nodeSet) bool { return strings.HasPrefix(node, cluster+"-"+s.name+"-") })]
}

// stranger is the machine of somebody else's that has the node's name.
func (w *world) stranger(node string) (fakegce.Instance, bool) {
	for _, in := range w.cloud.State().Instances {
		if in.Name == node && w.isStranger(in) {
			return in, true
		}
	}
	return fakegce.Instance{}, false
}

// isStranger reports whether a machine that has the name of one of the cluster's
// nodes is somebody else's.
func (w *world) isStranger(in fakegce.Instance) bool {
	_, stamped := mig.StampOfLabels(in.Labels)
	return w.known[in.Name] && (isNeighbours(in.Group) || in.Group == "" && !stamped)
}

// state is the cloud without the strangers' machines.
func (w *world) state() fakegce.State {
	st := w.cloud.State()
	st.Instances = slices.DeleteFunc(st.Instances, w.isStranger)
	return st
}
