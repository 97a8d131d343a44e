package fakegce

// SetZoneUp says whether a zone is UP, as every zone is at first, or DOWN. Only
// its own resource says.
func (s *Server) SetZoneUp(zone string, up bool) {
	s.do(func() { s.closed[zone] = !up })
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
	return s.closed[zone] || s.withdrawn[spot{zone, machineType}]
}

// Withdraw takes a machine type out of a zone, as many types are in some zones
// only.
func (s *Server) Withdraw(zone, machineType string) {
	s.do(func() { s.withdrawn[spot{zone, machineType}] = true })
}
