package fakegce

import (
	"net/http"
	"slices"
	"strings"
)

// SetZoneUp says whether a zone is UP, as every zone is at first, or DOWN. Only
// its own resource says.
func (s *Server) SetZoneUp(zone string, up bool) {
	s.do(func() { s.closed[zone] = !up })
}

// SetZoneDead says whether a zone is dead: Compute answers no call about what is in it,
// no aggregated list reaches it, and no machine is created there. Its machines run on.
func (s *Server) SetZoneDead(zone string, dead bool) {
	s.do(func() { s.dead[zone] = dead })
}

// buried refuses a call about what is in a dead zone. The zone's own resource is not in it.
func (s *Server) buried(c *call) error {
	if !s.dead[c.at.zone] || strings.HasPrefix(c.route.method, "zones.") {
		return nil
	}
	return backendError()
}

// unreached reports whether a list does not reach a place.
func (s *Server) unreached(c *call, at location) bool {
	return s.dead[at.zone] || slices.ContainsFunc(c.fault.Unreachable, unreachable(at))
}

// takesPartial reports whether a parameter is that of partial success, and the list takes it.
func (s *Server) takesPartial(c *call, name string) bool {
	return name == partialSuccess && strings.HasSuffix(c.route.method, ".aggregatedList") && (c.version != "v1" || !s.opts.Switches.RefusePartialSuccess)
}

// partialSuccess is the parameter by which a list names the places that it does not reach
// instead of failing.
const partialSuccess = "returnPartialSuccess"

// backendError is the answer of a place that does not work.
func backendError() error {
	return &refusal{Status: http.StatusServiceUnavailable, Reason: "backendError", Message: "Backend Error"}
}

// status is a zone's.
func (s *Server) status(zone string) string {
	if s.closed[zone] {
		return "DOWN"
	}
	return "UP"
}

// shut reports whether a zone has nothing to give of a machine type, whatever its capacity.
func (s *Server) shut(zone, machineType string) bool {
	return s.closed[zone] || s.dead[zone] || s.withdrawn[spot{zone, machineType}]
}

// Withdraw takes a machine type out of a zone, as many types are in some zones
// only.
func (s *Server) Withdraw(zone, machineType string) {
	s.do(func() { s.withdrawn[spot{zone, machineType}] = true })
}
