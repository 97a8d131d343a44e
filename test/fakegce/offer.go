package fakegce

import (
	"net/http"
	"slices"
	"strings"
)

// SetZoneUp sets a zone's status to UP, the initial status, or to DOWN. Only the zone's own
// resource shows the status.
func (s *Server) SetZoneUp(zone string, up bool) {
	s.do(func() { s.closed[zone] = !up })
}

// SetZoneDead makes a zone dead or alive. While a zone is dead, Compute answers no call about
// resources in the zone, aggregated lists do not reach it, and no machines are created there.
// Its existing machines keep running.
func (s *Server) SetZoneDead(zone string, dead bool) {
	s.do(func() { s.dead[zone] = dead })
}

// buried refuses a call about a resource in a dead zone. The zone's own resource is still
// readable.
func (s *Server) buried(c *call) error {
	if !s.dead[c.at.zone] || strings.HasPrefix(c.route.method, "zones.") {
		return nil
	}
	return backendError()
}

// unreached reports whether a list cannot reach a place.
func (s *Server) unreached(c *call, at location) bool {
	return s.dead[at.zone] || slices.ContainsFunc(c.fault.Unreachable, unreachable(at))
}

// backendError is the answer about a place that does not work.
func backendError() error {
	return &refusal{Status: http.StatusServiceUnavailable, Reason: "backendError", Message: "Backend Error"}
}

// status returns a zone's status.
func (s *Server) status(zone string) string {
	if s.closed[zone] {
		return "DOWN"
	}
	return "UP"
}

// shut reports whether a zone cannot supply a machine type, whatever its capacity.
func (s *Server) shut(zone, machineType string) bool {
	return s.closed[zone] || s.dead[zone] || s.withdrawn[spot{zone, machineType}]
}

// Withdraw removes a machine type from a zone. At Google, many types exist only in some zones.
func (s *Server) Withdraw(zone, machineType string) {
	s.do(func() { s.withdrawn[spot{zone, machineType}] = true })
}
