package history

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/flex/plan"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

const (
	us     = scenetest.US
	rising = scenetest.PoweringUp
	busy   = scenetest.Busy
	free   = scenetest.Idle
)

var noon = scenetest.Noon

// world is the input of passes, and a recorder that watches them.
type world struct {
	*scenetest.World
	*testing.T
	dir      string
	recorder *Recorder
	log      *zap.Logger
	accounts map[uint32]string // of the jobs to come
	plan     plan.Plan

	news []News // in their order
}

// notify records the recorder's news.
func (w *world) notify(n News) { w.news = append(w.news, n) }

// newsOf returns the news of a kind.
func (w *world) newsOf(what what) (all []News) {
	for _, n := range w.news {
		if n.What == what {
			all = append(all, n)
		}
	}
	return all
}

// newWorld returns an empty cluster at noon after the recorder's first look.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, World: scenetest.New(scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\n  other: {partition_nodeset: [g2]}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_static: 1, node_count_dynamic_max: 8", ""),
		scenetest.FlexSet("g2", "us-central1-a", "node_count_dynamic_max: 4", ""))), dir: t.TempDir(), log: zap.NewNop(), accounts: map[uint32]string{}}
	for _, set := range w.Config.FlexSets() {
		w.Snap.Templates[set.Template] = scenetest.FlexTemplate(map[string]string{"a3": "a3-highgpu-8g", "g2": "g2-standard-4"}[set.Name])
	}
	w.restart()
	w.look(0)
	return w
}

// restart replaces the recorder, as a new process does.
func (w *world) restart() {
	w.recorder = &Recorder{Dir: w.dir, Cluster: "alpha", Log: w.log, Notify: w.notify}
}

// look makes a pass that much later.
func (w *world) look(after time.Duration) {
	w.Snap.Now = w.Snap.Now.Add(after)
	w.recorder.saw(w.Scene(), w.plan)
	w.recorder.Wait(time.Minute)
}

// later makes a pass some minutes later.
func (w *world) later(minutes int) { w.look(time.Duration(minutes) * time.Minute) }

func (w *world) ago(d time.Duration) time.Time { return w.Snap.Now.Add(-d) }

// job adds one of ada's jobs to the queue, or changes it.
func (w *world) job(id uint32, state slurm.JobState, start time.Time, nodes ...string) *slurm.Job {
	j := w.Job(id, "train", strings.Join(nodes, ","), state)
	j.Start, j.User, j.Account = start, "ada", w.accounts[id]
	return j
}

// running makes a job run on the node.
func (w *world) running(id uint32, start time.Time) *slurm.Job {
	return w.job(id, slurm.JobRunning, start, node)
}

// pending makes a job wait in the queue.
func (w *world) pending(id uint32) *slurm.Job { return w.job(id, slurm.JobPending, time.Time{}) }

const group = "alpha-a3-job-812"

// requests sets the requests in that job's group. Without requests, the group does not exist.
func (w *world) requests(job uint32, requests ...mig.Request) {
	if len(requests) == 0 {
		w.NoGroup(group)
		return
	}
	w.Group(group, mig.Stamp{NodeSet: "a3", Job: job}, requests...)
}

// asked makes a1 the only request of job 812.
func (w *world) asked(state mig.RequestState, created time.Time, nodes ...string) {
	w.requests(812, request("a1", state, created, nodes...))
}

// ended removes all instances, and returns the single lease.
func (w *world) ended() Entry {
	w.Helper()
	w.gone()
	return w.only(Lease)
}

// story returns the story of a job in the history.
func (w *world) story(name string) *view.Past {
	w.Helper()
	story, err := Story(w.dir, "alpha", name)
	require.NoError(w, err)
	return story
}

// happens runs a test for each event, each in a world of its own.
func happens(t *testing.T, begin func(*testing.T) *world, events map[string]func(*world), run func(*world)) {
	t.Helper()
	for name, event := range events {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			event(w)
			run(w)
		})
	}
}

// gone removes all instances, and makes enough looks to notice it.
func (w *world) gone() {
	w.Snap.Instances = nil
	w.look(0)
	w.later(2)
}

// read returns the lines of a kind.
func (w *world) read(kind Kind) (lines []Entry) {
	w.Helper()
	lines, _ = w.all(kind)
	return lines
}

// all returns the lines of a kind, and the ongoing entries.
func (w *world) all(kind Kind) (lines, ongoing []Entry) {
	w.Helper()
	tally, err := Read(w.dir, "alpha", kind, func(e *Entry) {
		entry := *e
		entry.Uses = append([]Use(nil), e.Uses...)
		if e.Ongoing {
			ongoing = append(ongoing, entry)
		} else {
			lines = append(lines, entry)
		}
	})
	require.NoError(w, err)
	require.Zero(w, tally.Bad)
	return lines, ongoing
}

// only returns the single line of a kind.
func (w *world) only(kind Kind) Entry {
	w.Helper()
	entries := w.read(kind)
	require.Len(w, entries, 1)
	return entries[0]
}

func request(name string, state mig.RequestState, created time.Time, nodes ...string) mig.Request {
	return mig.Request{Name: name, State: state, Created: created, Instances: nodes, Duration: 4 * time.Hour}
}

// covered counts the seconds with at least one job. uses must be ordered by start.
func covered(uses []Use) (seconds int64) {
	var until Time
	for _, u := range uses {
		if u.To > until {
			seconds += int64(u.To - max(u.From, until))
			until = u.To
		}
	}
	return seconds
}
