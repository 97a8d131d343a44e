// Package memory holds what a process remembers between its passes. A restart clears it, because
// Slurm and Compute have everything that a pass must know. What each field of Memory then costs:
//
//	Groups       nothing: Compute refuses a second group of the same name
//	requests     nothing: Compute refuses a second request of the same name
//	Policies     nothing: Compute refuses a second policy of the same name
//	Inserted     money: a bulk insert for nodes without a job may be repeated; see the design's known
//	             limits
//	Refusals     nothing: the AdminComment of the job counts its failed attempts
//	tries        nothing: Slurm refuses the change once more, and a line in the log is repeated
//	Late         money: a late job may get machines again, for 40 seconds, once per restart
//	hosts        nothing: read again from the history
//	Told         nothing: read again. If another program has replaced the AdminComment, the job is
//	             signalled twice
//	Records      nothing: read again
//	RecordsRead  nothing: the records of all jobs on flex nodes are read again
//	Throttles    nothing: read again
//	Templates    nothing: read again
//	Settings     nothing: read again
//	regions      no display of an unread region, where nothing is changed. Machines in a region without
//	             nodesets are billed on: empty the region before its last nodeset is removed
//	outages      a repeated line in the log
//	machines     time: two more passes must miss a lost machine
//	problems     a repeated line in the log
//	started      nothing: the first pass reads more than others
//	clocks       time: provision_timeout counts from the live request or from the last refusal; a job is
//	             reported as stuck five minutes later; on_demand_after starts again, so on_demand machines
//	             are requested later
//
// No place in Google's queue depends on it: group, request and door have their facts in their names.
package memory

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Memory is what a process remembers between its passes. Recalls serve actions too; only passes, one
// after the other, use the other fields.
type Memory struct {
	// What this process created, until a list shows it; see made.go.
	Groups   recall[mig.GroupID, mig.Group]
	requests recall[requestID, mig.Request]
	Policies recall[mig.GroupID, mig.Policy]
	Inserted recall[string, bool] // instances without a group, until their node is up; true: the last list showed it

	// What failed.
	Refusals recall[string, scene.Refusal] // by Compute, as in scene.Snapshot; for refusalMatters
	tries    recall[string, try]           // actions that failed last time, by what they change; for remindAfter
	Late     recall[uint32, scene.Late]    // pending jobs that did not start in time; for lateMatters
	hosts    recall[string, scene.BadHost] // by name, where a machine failed its health check; for badFor

	// What is read rarely. What is known of a job is forgotten when the job has left the queue.
	Told        recall[uint32, string] // AdminComments of jobs: the last message to each owner
	Records     recall[uint32, slurm.JobRecord]
	RecordsRead bool                           // the records of all jobs on flex nodes have been read once
	Throttles   recall[uint32, int]            // of arrays, where squeue does not show them: tasks that may run at once; 0: any number
	Templates   recall[string, scene.Template] // instance templates, by link; for SettingsAge
	Settings    Settings                       // slurm.conf; for SettingsAge

	// What earlier passes saw.
	regions  recall[string, scene.LastKnown] // the last readings; see regions.go
	outages  recall[string, error]           // of regions, since their first unread pass
	machines recall[string, machine]         // by the names of nodes that have had a machine; without end
	problems recall[problem, struct{}]       // of the last pass, since the log last showed them
	started  time.Time                       // start of the first pass

	clocks scene.Clocks // from the last plan
}

const (
	// refusalMatters is how long a rejection is remembered: longer than the longest wait before
	// another attempt.
	refusalMatters = time.Hour

	// lateMatters is how long it is remembered that a job did not start in time: longer than its longest
	// rest, its wait for machines after that, and their boot.
	lateMatters = 24 * time.Hour

	// badFor is how long the host of a machine that failed its health check is remembered.
	badFor = 24 * time.Hour

	// SettingsAge is how long slurm.conf and instance templates, which rarely change, count as current.
	SettingsAge = 10 * time.Minute
)

// Begin returns the snapshot of a pass that starts to look now, with what earlier passes know.
// recorded returns the failed health checks since then from the history, by physical host, which
// outlasts the process; nil: none are known.
func (m *Memory) Begin(now time.Time, cfg *config.Config, recorded func(since time.Time) map[string]scene.BadHost) scene.Snapshot {
	begun := m.started
	if begun.IsZero() {
		begun = now
		if recorded != nil {
			for host, bad := range recorded(now.Add(-badFor)) {
				m.hosts.Note(host, bad, bad.At)
			}
		}
	}
	m.hosts.Expire(now, badFor)
	m.Refusals.Expire(now, refusalMatters)
	return scene.Snapshot{
		Begun: now, Started: begun,
		Compute: scene.Compute{Unseen: map[string]error{}, Left: m.left(cfg)},
		Memory: scene.Memory{
			Refused: m.Refusals.All(), Clocks: m.clocks, BadHosts: m.hosts.All(),
		},
	}
}

// Complete adds to a snapshot what its readings do not show, and remembers the readings.
func (m *Memory) Complete(snap *scene.Snapshot, cfg *config.Config) {
	m.addMade(snap)
	m.addInserted(snap)
	m.addLastKnown(snap, cfg)
	m.addMissed(snap, cfg)
	m.addRecords(snap)
	snap.Settings = m.Settings.Settings
	m.Late.Expire(snap.Now, lateMatters)
	snap.Late = m.Late.All()
	m.started = snap.Started
}

// Planned remembers a scene and its plan for the next pass.
func (m *Memory) Planned(s *scene.Scene, p plan.Plan) {
	m.noteBadHosts(s)
	m.clocks = p.Clocks
}

// noteBadHosts remembers the hosts of the machines that have failed their health check.
func (m *Memory) noteBadHosts(s *scene.Scene) {
	for _, in := range s.Machines {
		if in.Host != "" && in.Node != nil && in.Node.Unhealthy != "" {
			m.hosts.Note(in.Host, scene.BadHost{Node: in.Name, Why: in.Node.Unhealthy, At: s.Seen.Now}, s.Seen.Now)
		}
	}
}

// StandBy forgets what counts the time of waits, because another process decides meanwhile, and what
// ReadOwnersAgain forgets.
func (m *Memory) StandBy() {
	m.clocks = scene.Clocks{}
	m.ReadOwnersAgain()
}

// ReadOwnersAgain forgets the records of jobs, because another process has written AdminComments. It
// keeps what only this process may know: that a job was warned although another program has written
// its AdminComment.
func (m *Memory) ReadOwnersAgain() {
	m.RecordsRead = false
	m.Records.keepOnly(nil)
	m.Told.keep(func(_ uint32, was *noted[string]) bool {
		_, warned := memo.BeforeSignal(was.value)
		return warned
	})
}

// StartOver makes the next pass read as much as the first pass of a process.
func (m *Memory) StartOver() {
	m.started, m.RecordsRead, m.Settings.Read = time.Time{}, false, time.Time{}
}
