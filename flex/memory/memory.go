// Package memory holds what a process remembers between its passes. A restart clears it, because
// Slurm and Compute have everything that a pass must know. What each field of Memory then costs:
//
//	Made       nothing: Compute refuses a second group or request of the same name. A bulk insert for
//	           nodes without a job may be repeated: see the design's known limits
//	Refusals   nothing: the AdminComment of the job counts its failed attempts
//	Retries    nothing: Slurm refuses the change once more
//	Late       money: a late job may get machines again, for 40 seconds, once per restart
//	Hosts      nothing: read again from the history
//	Owners     nothing: the records are read again. If another program has replaced the AdminComment,
//	           the job is signalled twice
//	Accounts   nothing: read again
//	Throttles  nothing: read again
//	Settings   nothing: read again
//	Templates  nothing: read again
//	Regions    no display of an unread region, where nothing is changed. Machines in a region without
//	           nodesets are billed on: empty the region before its last nodeset is removed
//	Failures   a repeated line in the log
//	Problems   a repeated line in the log
//	missed     time: two more passes must miss a lost machine
//	started    nothing: the first pass reads more than others
//	asked      time: provision_timeout counts from the live request or from the last refusal
//	unasked    time: a job is reported as stuck five minutes later
//	crowded    time: on_demand_after starts again, so on_demand machines are requested later
//
// No place in Google's queue depends on it: group, request and door have their facts in their names.
package memory

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
)

// Memory is what a process remembers between its passes. Its parts that actions change are safe for
// concurrent use, because actions run in parallel, also with the next pass.
type Memory struct {
	Made     made       // what this process created, and lists may not show yet
	Refusals Refusals   // what Compute rejected
	Retries  Retries    // what Slurm rejected
	Late     latecomers // pending jobs that did not start in time
	Hosts    Hosts      // hosts of machines that failed their health check
	Owners   Owners     // job records, and the last message to each owner

	Accounts  map[uint32]string // of jobs; only passes use it
	Throttles Throttles         // of arrays, where squeue does not show them
	Settings  Settings          // slurm.conf
	Templates templates         // instance templates
	Regions   Regions           // the last reading of each region

	Failures failures // errors of actions that the log has
	Problems Problems // problems that the log has

	missed  missed                 // nodes that have lost their machines
	started time.Time              // start of the first pass
	asked   map[string]scene.Asked // from the last plan; see scene.Snapshot
	unasked map[uint32]time.Time   // from the last plan; see scene.Snapshot
	crowded map[uint32]time.Time   // from the last plan; see scene.Snapshot
}

// Begin returns the snapshot of a pass that starts to look now, with what earlier passes know.
func (m *Memory) Begin(now time.Time, cfg *config.Config) scene.Snapshot {
	if m.started.IsZero() {
		m.started = now
	}
	return scene.Snapshot{
		Begun: now, Started: m.started,
		Compute: scene.Compute{Unseen: map[string]error{}, Left: m.Regions.left(cfg)},
		Memory:  scene.Memory{Refused: m.Refusals.matter(now), Asked: m.asked, Unasked: m.unasked, Crowded: m.crowded, BadHosts: m.Hosts.matter(now)},
	}
}

// Complete adds to a snapshot what its readings do not show, and remembers the readings.
func (m *Memory) Complete(snap *scene.Snapshot, cfg *config.Config) {
	m.Made.complete(snap)
	m.Regions.recall(snap, cfg)
	m.missed.complete(snap, cfg)
	m.Owners.keep(snap)
	m.Settings.add(snap)
	snap.Late = m.Late.Matter(snap.Now)
}

// Planned remembers a scene and its plan for the next pass.
func (m *Memory) Planned(s *scene.Scene, p plan.Plan) {
	m.Hosts.see(s)
	m.asked, m.unasked, m.crowded = p.Asked, demand.WithoutReason(p.Held), p.Crowded
}

// StandBy forgets what counts the time of waits, because another process decides meanwhile, and the
// records of jobs, because that process writes AdminComments.
func (m *Memory) StandBy() {
	m.asked, m.unasked, m.crowded = nil, nil, nil
	m.Owners.forget()
}

// StartOver makes the next pass read as much as the first pass of a process.
func (m *Memory) StartOver() {
	m.started, m.Settings.read = time.Time{}, time.Time{}
	m.Owners.Begin(false)
}
