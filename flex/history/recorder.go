package history

import (
	"os"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
)

// lookEvery is how often a process saves the times of its looks, while nothing else changes.
const lookEvery = Time(time.Minute / time.Second)

// shortAway is a time between two looks that is too short for a takeover and back: while
// slurmctld is restarted, a waiting backup may look active.
const shortAway = 3 * time.Minute

// maxUnwritten is how many lines a process keeps while they cannot be written. Later ones replace the
// oldest.
const maxUnwritten = 10_000

// Recorder writes the history of the observations of passes, in the background, and knows the stories of
// jobs. A folder that cannot be written only causes a warning. A hanging disk delays no
// pass.
type Recorder struct {
	Dir, Cluster string // of the history
	Log          *zap.Logger
	Notify       func(News) // is called with the news of each look
	Remembers    bool       // remember the last day, also what is in the history when the recorder starts

	mu   sync.Mutex
	next *look         // the next observation to record; nil: none
	lost error         // why the history is not written; nil: it is
	done chan struct{} // closed when nothing is left to record; nil: nothing is being recorded
	away time.Time     // since when another host has made the passes; zero: it has not

	// Only one look is recorded at a time. The fields below belong to it.
	last      time.Time // of the last look
	hidden    bool      // the files were hidden from other users, because Slurm hides jobs
	unwritten []any     // the lines of what has ended that are not written yet
	recalled  bool      // the last day in the history has been read

	// Only the look that is being recorded changes these, with the lock.
	looking sync.Mutex
	memory  *memory // nil before the first look
	day     day     // empty unless the recorder remembers it
}

// Watcher returns what the recorder must see of the passes. It needs no actions, because the next look shows
// their effect.
func (r *Recorder) Watcher() flex.Watcher { return flex.Watcher{Saw: r.saw, Stood: r.stood} }

// saw records the observation of a pass in the background. If further passes arrive meanwhile, only
// the last of them is recorded.
func (r *Recorder) saw(s *scene.Scene, p plan.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = &look{scene: s, plan: p, now: At(s.Seen.Now)}
	if r.done == nil {
		r.done = make(chan struct{})
		go r.work(r.done)
	}
}

// Wait waits until all observations are recorded, but no longer than atMost.
func (r *Recorder) Wait(atMost time.Duration) {
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-time.After(atMost):
	}
}

// work records observations until none is left.
func (r *Recorder) work(done chan struct{}) {
	for {
		r.mu.Lock()
		seen, away := r.next, r.away
		r.next = nil
		if seen == nil {
			r.done = nil
			close(done)
		} else {
			r.away = time.Time{}
		}
		r.mu.Unlock()
		if seen == nil {
			return
		}
		if gap := seen.scene.Seen.Now.Sub(r.last); r.memory != nil && gap < shortAway {
			away = time.Time{} // slurmctld was restarted, and no other host has made passes
		}
		r.record(seen, away)
		r.last = seen.scene.Seen.Now
	}
}

// record writes the waits and leases that have ended since the last look. away is since when another
// host has made the passes before this one; zero: it has not.
func (r *Recorder) record(l *look, away time.Time) {
	m := r.memory
	if m == nil || !away.IsZero() {
		_ = os.Mkdir(r.Dir, 0o755) // the write reports a failure
		var err error
		if m, err = load(r.Dir, r.Cluster); !away.IsZero() {
			m.missed(At(away))
		}
		r.report(err)
	}
	r.hide(l.scene.Seen.Private)
	l.findRuns()
	r.see(m, l, !away.IsZero())
	r.report(r.write(l))
	r.recall(l.scene.Seen.Now)
	for _, n := range l.news {
		r.Notify(n)
	}
}

// see updates the memory from a look. If others made the passes before this one, they have written the
// stories that have ended.
func (r *Recorder) see(m *memory, l *look, others bool) {
	r.looking.Lock()
	defer r.looking.Unlock()
	r.memory, l.looked = m, m.Looked
	leases := m.leases(l)
	for _, e := range leases {
		l.note(News{What: LeaseEnded, Entry: e})
	}
	entries, ended := slices.Concat(m.waits(l), leases), m.openStories.see(l.scene, l.plan, others)
	for _, e := range entries {
		r.unwritten = append(r.unwritten, e)
	}
	for _, story := range ended {
		r.unwritten = append(r.unwritten, lineOf(story))
	}
	for _, region := range l.scene.Regions {
		if !l.scene.Unseen(region) {
			m.Looked[region] = l.now
		}
	}
	if r.recalled {
		r.day.entries, r.day.stories = append(r.day.entries, entries...), append(r.day.stories, ended...)
		r.day.trim(l.scene.Seen.Now)
	}
}

// hide keeps other users from reading files that were written before Slurm hid jobs.
func (r *Recorder) hide(private bool) {
	if private && !r.hidden {
		if err := hideAll(r.Dir, r.Cluster); err != nil {
			r.Log.Warn("other users may read the history, although Slurm hides jobs from them (PrivateData); run chmod o-r on its files",
				zap.String("folder", r.Dir), zap.Error(err))
		}
	}
	r.hidden = private
}

// write appends the lines that are not written yet, and saves what is open. If this fails, the next
// look repeats the lines, even those that were written: the first line with an ID counts.
func (r *Recorder) write(l *look) error {
	private := l.scene.Seen.Private
	if len(r.unwritten) > 0 {
		if err := Append(r.Dir, r.Cluster, private, r.unwritten); err != nil {
			r.unwritten = r.unwritten[max(0, len(r.unwritten)-maxUnwritten):]
			return err
		}
		r.unwritten = nil
	}
	return r.memory.save(r.Dir, r.Cluster, private, l.now)
}

// report logs once that the history cannot be kept, and again only after a success.
func (r *Recorder) report(err error) {
	r.mu.Lock()
	kept := r.lost == nil
	r.lost = err
	r.mu.Unlock()
	if err != nil && kept {
		r.Log.Warn("history is not kept; give SlurmUser a folder to write into, or set slurmflex.state_dir; the limits on GPU hours and cost then hold back no job",
			zap.String("folder", r.Dir), zap.Error(err))
	}
}

// Kept returns why the history is not written; nil if it is.
func (r *Recorder) Kept() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// stood forgets the observations when another host makes the passes. They would be outdated by the
// time this host takes over again.
func (r *Recorder) stood(err error) {
	if !flex.IsStandby(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = nil
	if r.away.IsZero() {
		r.away = time.Now()
	}
}
