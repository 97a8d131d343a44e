package plan

import (
	"fmt"
)

// waitedTooLong gives a cohort up that has waited for capacity for longer than
// provision_timeout.
func waitedTooLong(w *wanted, c *cohort) verdict {
	limit := c.set.Flex.ProvisionTimeout
	if limit == 0 {
		return verdict{}
	}
	since := w.lacksSince(c)
	if since.IsZero() || !w.isOld(since, limit) || w.unseen(c.set.Region) || w.unreadOf(c) != "" {
		return verdict{}
	}
	stranger := w.stranger(c)
	if stranger == "" && w.anyPresent(c.nodes) {
		return verdict{}
	}
	reason := fmt.Sprintf("no capacity for %d × %s in %s (provision_timeout %s)",
		len(c.nodes), w.machineType(c.set), roughly(w.snap.Now.Sub(since)), clock(limit))
	if message := w.lastAttempt(c); message != "" {
		reason += "; last attempt: " + message
	}
	if stranger != "" {
		reason = fmt.Sprintf("%s (provision_timeout %s)", stranger, clock(limit))
	}
	then := Then(c.set.Flex.OnProvisionTimeout)
	return w.giveUp(c, then, then == Cancel, "provision-timeout", reason)
}

// lastAttempt is what the cloud said last about the cohort.
func (s *scene) lastAttempt(c *cohort) string {
	if c.live != nil {
		return c.live.request.Message
	}
	_, _, message, _ := s.failures(c, s.groups[c.id()])
	return message
}
