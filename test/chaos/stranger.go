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
type squat struct {
	node  string
	how   tenancy
	lasts time.Duration
}

// tenancy is whose the machine is, and what it does.
type tenancy string

// Whose a machine may be.
const (
	byHand  tenancy = "made by hand"
	stopped tenancy = "made by hand, and stopped"
	alikes  tenancy = "of slurm-gcp's cluster alpha-a3, nodeset pool"
)

func (e squat) String() string {
	return fmt.Sprintf("there is a machine %s, %s, for %v", e.node, e.how, e.lasts)
}

func (e squat) strike(w *world, no int) {
	for _, in := range w.cloud.State().Instances {
		if in.Name == e.node {
			return
		}
	}
	var err error
	if e.how == alikes {
		err = populate(w.cloud, alikesGroup, fmt.Sprintf("b%d", no), []string{e.node})
	} else {
		set := setOf(e.node)
		err = post(w.cloud, "/zones/"+set.zones[0]+"/instances/bulkInsert", map[string]any{
			"count": "1", "sourceInstanceTemplate": "projects/" + project + "/regions/" + set.region + "/instanceTemplates/flex",
			"perInstanceProperties": map[string]any{e.node: map[string]any{}},
		})
	}
	w.journal.note("%v: %v", e, err)
	if e.how == stopped {
		time.AfterFunc(w.setup.cloud.BootTime+w.setup.cloud.OperationTime+time.Minute, func() {
			if _, there := w.stranger(e.node); there {
				w.journal.note("machine %s of a stranger stops: %v", e.node, w.cloud.StopVM(e.node))
			}
		})
	}
	w.holds("squat "+e.node, no, e.lasts, func() { w.evict(e) })
}

// evict has the owner of a machine take it away.
func (w *world) evict(e squat) {
	in, there := w.stranger(e.node)
	if !there {
		return
	}
	w.ails.suffered(compute)
	address := "/zones/" + in.Zone + "/instances/" + e.node
	var err error
	if in.Group != "" {
		err = post(w.cloud, neighbourhood+"/"+in.Group+"/deleteInstances", map[string]any{
			"instances": []string{"projects/" + project + address},
		})
	} else {
		err = call(w.cloud, http.MethodDelete, address, nil)
	}
	w.journal.note("a stranger deletes his machine %s: %v", e.node, err)
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
