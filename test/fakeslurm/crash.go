package fakeslurm

import "time"

// Crash is a slurmctld that is killed, and starts again with what it had saved: reservations that
// were made, and jobs that were told to use one, so short a time ago are lost. No job uses a
// reservation that is lost.
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
