package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// capacity limits a zone to a number of machines for a while.
func capacity(zone string, count int, lasts time.Duration) event {
	return happening{fmt.Sprintf("%s has room for %d machines, for %v", zone, count, lasts), func(w *world, no int) {
		w.cloud.SetCapacity(zone, "", count)
		w.holds("capacity "+zone, no, lasts, func() { w.cloud.SetCapacity(zone, "", -1) })
	}}
}

// quota lowers a quota for a while.
func quota(region, metric string, limit float64, lasts time.Duration) event {
	return happening{fmt.Sprintf("%s allows %v %s, for %v", region, limit, metric, lasts), func(w *world, no int) {
		must.Do(w.cloud.SetQuota(region, metric, limit))
		w.holds("quota "+metric+" "+region, no, lasts, func() { must.Do(w.cloud.SetQuota(region, metric, 100)) })
	}}
}

// quotas returns the metrics that may be short.
func quotas() []string {
	return append(mig.GroupQuotas(), "ACTIVE_RESIZE_REQUESTS", "ACTIVE_RESIZE_REQUESTS", fakegce.ConcurrentOperations)
}

// failRequest makes a waiting resize request of slurmflex fail.
func failRequest(nth int, code string) event {
	return happening{fmt.Sprintf("the %s waiting request fails with %s", ordinal(nth+1), code), func(w *world, _ int) {
		var all [][2]string // group and request
		for _, g := range w.ours(w.state()) {
			for _, r := range g.Requests {
				if r.State == "ACCEPTED" {
					all = append(all, [2]string{g.Name, r.Name})
				}
			}
		}
		if nth < len(all) {
			w.watch.despair(code, 0)
			err := w.cloud.FailRequest(all[nth][0], all[nth][1], code, "it was so in the script")
			w.journal.note("request %s/%s fails with %s: %v", all[nth][0], all[nth][1], code, err)
		}
	}}
}

// refuseCreation makes operations that create resources fail with a code.
func refuseCreation(method, code string, lasts time.Duration) event {
	return happening{fmt.Sprintf("operations of %s end with %s, for %v", method, code, lasts), func(w *world, no int) {
		w.watch.despair(code, lasts)
		problem := &fakegce.Problem{Code: code, Message: "it was so in the script"}
		w.arm(no, lasts, fakegce.Fault{Method: method, OperationError: problem})
	}}
}

// lag makes lists show an earlier state.
func lag(method string, behind, lasts time.Duration) event {
	return happening{fmt.Sprintf("%s lags %v behind, for %v", method, behind, lasts), func(w *world, no int) {
		w.arm(no, lasts, fakegce.Fault{Method: method, Lag: behind})
	}}
}

// unreachable makes a list unable to reach a zone or region.
func unreachable(method, place string, lasts time.Duration) event {
	return happening{fmt.Sprintf("%s is out of reach of %s, for %v", place, method, lasts), func(w *world, no int) {
		w.arm(no, lasts, fakegce.Fault{Method: method, Unreachable: []string{place}})
	}}
}

// deadZone makes a zone answer no calls for a while.
func deadZone(zone string, lasts time.Duration) event {
	return happening{fmt.Sprintf("zone %s is dead, for %v", zone, lasts), func(w *world, no int) {
		w.cloud.SetZoneDead(zone, true)
		w.arm(no, lasts, fakegce.Fault{Method: "instances.list", Object: "zones/" + zone + "/", Status: http.StatusServiceUnavailable})
		w.holds("dead "+zone, no, lasts, func() { w.cloud.SetZoneDead(zone, false) })
	}}
}

// loss is a way to lose a machine.
type loss string

// The losses.
const (
	vanishes   loss = "vanishes"
	stops      loss = "stops"
	hostFails  loss = "is lost with its host"
	maintained loss = "is announced to stop for maintenance"
)

// loseVM loses a machine, at once or when its maintenance starts.
func loseVM(nth int, how loss) event {
	return happening{fmt.Sprintf("the %s machine %s", ordinal(nth+1), how), func(w *world, no int) {
		machines := slices.DeleteFunc(w.state().Instances, func(in fakegce.Instance) bool {
			return !w.known[in.Name] || in.Status == "STOPPING" || how != vanishes && in.Status != "RUNNING"
		})
		if nth >= len(machines) {
			return
		}
		name := machines[nth].Name
		if how == maintained {
			left := w.dice.span(time.Minute, 40*time.Minute, "maintenance", no)
			w.journal.note("maintenance of machine %s starts in %v: %v", name, left, w.cloud.AnnounceMaintenance(name, left, time.Hour))
			time.AfterFunc(left-time.Second, func() {
				if in, there := w.state().Instance(name); there && in.Created.Equal(machines[nth].Created) {
					w.watch.take(name)
				}
			})
			return
		}
		loseMachine(w, name, how)
	}}
}

// loseMachine loses a machine at once.
func loseMachine(w *world, name string, how loss) {
	w.watch.take(name)
	var err error
	switch how {
	case stops:
		err = w.cloud.StopVM(name)
	case hostFails:
		err = w.cloud.FailHost(name, 5*time.Minute)
	default:
		err = w.cloud.DeleteVM(name)
	}
	w.journal.note("machine %s %s: %v", name, how, err)
}

// outage cuts the power of a zone: all machines of slurmflex there stop.
func outage(zone string) event {
	return happening{"all machines in " + zone + " stop", func(w *world, _ int) {
		for _, in := range w.state().Instances {
			if w.known[in.Name] && in.Zone == zone && in.Status == "RUNNING" {
				w.watch.take(in.Name)
				w.journal.note("machine %s is lost: %v", in.Name, w.cloud.StopVM(in.Name))
			}
		}
	}}
}

// mute prevents booting machines from registering with Slurm for a while.
func mute(lasts time.Duration) event {
	text := fmt.Sprintf("machines boot and do not register, for %v", lasts)
	return happening{text, func(w *world, no int) {
		w.holds("mute", no, lasts, func() {})
	}}
}

// unhealthy makes half of the machines that boot fail their health checks.
func unhealthy(lasts time.Duration) event {
	return happening{fmt.Sprintf("one of two health checks fails before slurmd registers, for %v", lasts), func(w *world, no int) {
		w.holds("unhealthy", no, lasts, func() {})
	}}
}

// failCheck makes the health check of a running machine fail.
func failCheck(node string) event {
	return happening{"the health check of " + node + " fails", func(w *world, _ int) {
		if w.machines.of(node).answers {
			w.machines.failCheck(node)
		}
	}}
}

// crash stops a node's slurmd for a while. Its machine keeps running.
func crash(node string, lasts time.Duration) event {
	return happening{fmt.Sprintf("the slurmd of %s is gone, for %v", node, lasts), func(w *world, no int) {
		if w.machines.of(node).boot.IsZero() {
			return
		}
		w.machines.hush(node)
		w.holds("crash "+node, no, lasts, func() { w.machines.speak(node) })
	}}
}

// failureCodes returns the error codes of failing requests and operations.
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

// hopeless reports whether a code is a permanent error that only an admin can fix.
func hopeless(code string) bool {
	return slices.Contains([]string{
		"PERMISSIONS_ERROR", "CONDITION_NOT_MET", "INVALID_ARGUMENT", "INVALID_MACHINE_TYPE", "INVALID_GPU_TYPE",
		"PERMISSION_DENIED", "AGGREGATE_RESERVATION_NOT_EXIST", "UNSUPPORTED_OPERATION", forbidden,
	}, code)
}

// creations returns the methods that refuseCreation affects.
func creations() []string {
	return []string{
		"regionInstanceGroupManagerResizeRequests.insert", "regionInstanceGroupManagers.insert",
		"instances.bulkInsert", "regionInstances.bulkInsert", "resourcePolicies.insert",
	}
}

// lists returns the methods that lag and unreachable affect.
func lists() []string {
	return []string{
		"regionInstanceGroupManagers.list", "regionInstanceGroupManagerResizeRequests.list",
		"instances.list", "resourcePolicies.list",
	}
}
