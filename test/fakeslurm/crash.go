package fakeslurm

import "time"

// Crash kills slurmctld and starts it again from its saved state. Reservations created, and jobs'
// reservations set, within the last unsaved are lost. No job names a lost reservation.
func (c *Cluster) Crash(unsaved time.Duration) {
	c.mu.Lock()
	since := c.o.Now().Add(-unsaved)
	for _, j := range c.queue {
		if j.reservation != nil && j.used.After(since) {
			j.reservation = nil
		}
	}
	var lost []*reservation
	for _, r := range c.reservations {
		if r.made.After(since) {
			lost = append(lost, r)
		}
	}
	c.forget(lost)
	c.mu.Unlock()
	c.Restart()
}
