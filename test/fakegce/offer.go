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

// Withdraw takes a machine type out of a zone, as many types are in some zones
// only.
func (s *Server) Withdraw(zone, machineType string) {
	s.do(func() { s.withdrawn[spot{zone, machineType}] = true })
}
