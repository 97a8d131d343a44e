package fakegce

import (
	"time"

	"google.golang.org/api/compute/v1"
)

// AnnounceMaintenance schedules maintenance of the named running instance's host: the window
// starts after in and lasts for lasts. Until then, the instance shows the announcement. When
// the window starts, the instance stops, because a machine with GPUs cannot migrate. Source:
// Compute's pages "About host events" and "Monitor and plan for a host maintenance event".
func (s *Server) AnnounceMaintenance(name string, in, lasts time.Duration) error {
	return s.toVM("announce maintenance of", name, func(v *vm) {
		if !v.running() {
			return
		}
		start := s.now.Add(in)
		window := &compute.UpcomingMaintenance{
			Type: "SCHEDULED", MaintenanceStatus: "PENDING", MaintenanceReasons: []string{"PLANNED_UPDATE"},
			WindowStartTime: stamp(start), LatestWindowStartTime: stamp(start), WindowEndTime: stamp(start.Add(lasts)),
		}
		v.api.ResourceStatus.UpcomingMaintenance, v.maintained = window, start
		s.after(in, func() {
			if v.running() && v.api.ResourceStatus.UpcomingMaintenance == window {
				s.stop(v)
			}
		})
	})
}

// FailHost makes the host of the named instance fail at once. The instance is REPAIRING for
// the repair time, then TERMINATED, because a flex-start machine is not restarted. Source:
// Compute's pages "About host events" and "Instance life cycle".
func (s *Server) FailHost(name string, repair time.Duration) error {
	return s.toVM("fail the host of", name, func(v *vm) {
		if !v.running() {
			return
		}
		s.halt(v, "REPAIRING")
		s.after(repair, func() {
			if v.api.Status == "REPAIRING" {
				s.stop(v)
			}
		})
	})
}
