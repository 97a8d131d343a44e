package memory

import (
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/plan/scene"
)

// remindAfter is the time after which the log repeats a lasting problem, or an action that fails
// the same way in each pass.
const remindAfter = time.Hour

// problem identifies a problem, the text of which may change while it lasts.
type problem struct{ kind, about string }

// Report logs the problems of a pass when they are new, and occasionally while they last, because
// passes run every few seconds, and one event must be one line. It also logs the regions that can be
// read again.
func (m *Memory) Report(log *zap.Logger, found scene.Problems, snap scene.Snapshot) {
	lasting := map[problem]bool{}
	for _, p := range found {
		key := problem{p.Key, p.About}
		lasting[key] = true
		if _, at, known := m.problems.Get(key); !known || age(snap.Now, at) >= remindAfter {
			log.Warn(p.Text)
			m.problems.Note(key, struct{}{}, snap.Now)
		}
	}
	m.problems.keepOnly(lasting)
	m.outages.keep(func(region string, was *noted[error]) bool {
		if snap.Unseen[region] == nil {
			log.Info("region "+region+" is read again", zap.Duration("after", snap.Now.Sub(was.at)))
		}
		return snap.Unseen[region] != nil
	})
}
