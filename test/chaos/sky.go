package chaos

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/test/fakegce"
)

// capacity is room for so many machines in a zone, for a while.
type capacity struct {
	zone  string
	count int
	lasts time.Duration
}

func (e capacity) String() string {
	return fmt.Sprintf("%s has room for %d machines, for %v", e.zone, e.count, e.lasts)
}

func (e capacity) strike(w *world, no int) {
	w.cloud.SetCapacity(e.zone, "", e.count)
	w.holds("capacity "+e.zone, no, e.lasts, func() { w.cloud.SetCapacity(e.zone, "", -1) })
}

// quota is a quota that is short for a while.
type quota struct {
	region string
	limit  float64
	lasts  time.Duration
}

// activeRequests is the quota of live resize requests in a region.
const activeRequests = "ACTIVE_RESIZE_REQUESTS"

func (e quota) String() string {
	return fmt.Sprintf("%s allows %v live requests, for %v", e.region, e.limit, e.lasts)
}

func (e quota) strike(w *world, no int) {
	w.cloud.SetQuota(e.region, activeRequests, e.limit)
	w.holds("quota "+e.region, no, e.lasts, func() { w.cloud.SetQuota(e.region, activeRequests, 100) })
}

// failRequest is a resize request of ours that fails while it waits.
type failRequest struct {
	nth  int // of those that wait
	code string
}

func (e failRequest) String() string {
	return fmt.Sprintf("the %s waiting request fails with %s", ordinal(e.nth+1), e.code)
}

func (e failRequest) strike(w *world, _ int) {
	type waiting struct{ group, request string }
	var all []waiting
	for _, g := range w.ours(w.state()) {
		for _, r := range g.Requests {
			if r.State == "ACCEPTED" {
				all = append(all, waiting{g.Name, r.Name})
			}
		}
	}
	if e.nth >= len(all) {
		return
	}
	w.watch.despair(e.code, 0)
	err := w.cloud.FailRequest(all[e.nth].group, all[e.nth].request, e.code, "it was so in the script")
	w.journal.note("request %s/%s fails with %s: %v", all[e.nth].group, all[e.nth].request, e.code, err)
}

// refuseCreation has operations that create something end with a code.
type refuseCreation struct {
	method string
	code   string
	lasts  time.Duration
}

func (e refuseCreation) String() string {
	return fmt.Sprintf("operations of %s end with %s, for %v", e.method, e.code, e.lasts)
}

func (e refuseCreation) strike(w *world, no int) {
	w.watch.despair(e.code, e.lasts)
	w.arm(no, e.lasts, fakegce.Fault{
		Method:         e.method,
		OperationError: &fakegce.Problem{Code: e.code, Message: "it was so in the script"},
	})
}

// lag has lists show what was there a while ago.
type lag struct {
	method string
	behind time.Duration
	lasts  time.Duration
}

func (e lag) String() string {
	return fmt.Sprintf("%s lags %v behind, for %v", e.method, e.behind, e.lasts)
}

func (e lag) strike(w *world, no int) {
	w.arm(no, e.lasts, fakegce.Fault{Method: e.method, Lag: e.behind})
}

// unreachable is a zone or region that a list does not reach.
type unreachable struct {
	method string
	place  string
	lasts  time.Duration
}

func (e unreachable) String() string {
	return fmt.Sprintf("%s is out of reach of %s, for %v", e.place, e.method, e.lasts)
}

func (e unreachable) strike(w *world, no int) {
	w.arm(no, e.lasts, fakegce.Fault{Method: e.method, Unreachable: []string{e.place}})
}

// loseVM is a machine that vanishes, or stops.
type loseVM struct {
	nth   int // of those that are there
	stops bool
}

func (e loseVM) String() string {
	if e.stops {
		return fmt.Sprintf("the %s machine stops", ordinal(e.nth+1))
	}
	return fmt.Sprintf("the %s machine vanishes", ordinal(e.nth+1))
}

func (e loseVM) strike(w *world, _ int) {
	machines := slices.DeleteFunc(w.state().Instances, func(in fakegce.Instance) bool {
		return !w.known[in.Name] || in.Status == "STOPPING" || e.stops && in.Status != "RUNNING"
	})
	if e.nth >= len(machines) {
		return
	}
	name := machines[e.nth].Name
	lose := w.cloud.DeleteVM
	if e.stops {
		lose = w.cloud.StopVM
	}
	w.watch.take(name)
	w.journal.note("machine %s is lost (stops: %t): %v", name, e.stops, lose(name))
}

// outage is a zone whose power fails: all machines of ours in it stop.
type outage struct{ zone string }

func (e outage) String() string { return "all machines in " + e.zone + " stop" }

func (e outage) strike(w *world, _ int) {
	for _, in := range w.state().Instances {
		if w.known[in.Name] && in.Zone == e.zone && in.Status == "RUNNING" {
			w.watch.take(in.Name)
			w.journal.note("machine %s is lost: %v", in.Name, w.cloud.StopVM(in.Name))
		}
	}
}

// mute has the machines that boot not register with Slurm, for a while.
type mute struct{ lasts time.Duration }

func (e mute) String() string {
	return fmt.Sprintf("machines boot and do not register, for %v", e.lasts)
}

func (e mute) strike(w *world, no int) { w.holds("mute", no, e.lasts, func() {}) }

// crash is the slurmd of a node that is gone for a while, and its machine not.
type crash struct {
	node  string
	lasts time.Duration
}

func (e crash) String() string {
	return fmt.Sprintf("the slurmd of %s is gone, for %v", e.node, e.lasts)
}

func (e crash) strike(w *world, no int) {
	if w.machines.booted(e.node).IsZero() {
		return
	}
	w.machines.hush(e.node)
	w.holds("crash "+e.node, no, e.lasts, func() { w.machines.speak(e.node) })
}

// failureCodes are those that requests and operations fail with.
func failureCodes() []string {
	return []string{
		"LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
		"IP_SPACE_EXHAUSTED", "PERMISSIONS_ERROR", "CONDITION_NOT_MET", "INTERNAL_ERROR",
	}
}

func refusalCodes() []string {
	return append(failureCodes(), "INVALID_ARGUMENT", "INVALID_MACHINE_TYPE", "INVALID_GPU_TYPE", "PERMISSION_DENIED",
		"QUEUING_INFEASIBLE_NO_CAPACITY", "AGGREGATE_RESERVATION_NOT_EXIST", "UNSUPPORTED_OPERATION")
}

// hopeless reports whether whoever meets a code is right to give up: an admin
// must change something.
func hopeless(code string) bool {
	switch code {
	case "PERMISSIONS_ERROR", "CONDITION_NOT_MET", "INVALID_ARGUMENT", "INVALID_MACHINE_TYPE", "INVALID_GPU_TYPE",
		"PERMISSION_DENIED", "AGGREGATE_RESERVATION_NOT_EXIST", "UNSUPPORTED_OPERATION", forbidden:
		return true
	}
	return false
}

// creations are the methods that refuseCreation strikes.
func creations() []string {
	return []string{
		"regionInstanceGroupManagerResizeRequests.insert", "regionInstanceGroupManagers.insert",
		"instances.bulkInsert", "regionInstances.bulkInsert", "resourcePolicies.insert",
	}
}

// lists are the methods that lag and unreachable strike.
func lists() []string {
	return []string{
		"regionInstanceGroupManagers.list", "regionInstanceGroupManagerResizeRequests.list",
		"instances.aggregatedList", "resourcePolicies.list",
	}
}
