package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// breakerRest is how long a nodeset is blocked after the last failed boot.
const breakerRest = time.Hour

// bootRecord is what a node's Extra says of its instances that did not come up.
// In Slurm it outlives every process of ours.
type bootRecord struct {
	failed int       // instances in a row
	last   time.Time // when the last of them was made
}

const bootRecordForm = ReasonPrefix + "%d boots failed, the last of an instance made %s"

func (b bootRecord) String() string {
	return fmt.Sprintf(bootRecordForm, b.failed, b.last.UTC().Format(time.RFC3339))
}

// readBootRecord reads a node's Extra. It reports false if that is not ours.
func readBootRecord(extra string) (b bootRecord, ok bool) {
	if !strings.HasPrefix(extra, ReasonPrefix) {
		return bootRecord{}, false
	}
	var at string
	if n, err := fmt.Sscanf(extra, bootRecordForm, &b.failed, &at); n != 2 || err != nil {
		return bootRecord{}, false
	}
	last, err := time.Parse(time.RFC3339, at)
	b.last = last
	return b, err == nil && b.failed > 0
}

// HasBootRecord reports whether a node's Extra is a record of failed boots.
func HasBootRecord(n slurm.Node) bool {
	_, ok := readBootRecord(n.Extra)
	return ok
}

// boots is what a round sees of the instances of one nodeset that were to boot.
type boots struct {
	records map[string]bootRecord // of earlier rounds, by node
	newest  time.Time             // when the last instance on record was made
	failed  map[time.Time]int     // failures on record, by when the last of them was made; those of a gang count once
	up      time.Time             // when the newest instance that came up was made
	late    []string              // nodes whose instance has not within boot_timeout
	gangs   map[string]time.Time  // when the newest of theirs was made, by what they came for
}

// gang is what the instance came up for together with others: a job, or its node.
func (in machine) gang() string {
	if job := in.stamp().Job; job != 0 {
		return strconv.FormatUint(uint64(job), 10)
	}
	return in.Name
}

// lastMade is when the newest instance was made that was to come up with the node's.
func (b *boots) lastMade(m *member) (made time.Time) {
	for _, in := range m.machines {
		made = later(made, b.gangs[in.gang()])
	}
	return made
}

// judgeBoots looks which instances have come up and which have not within
// boot_timeout, and blocks the nodesets of which too many in a row did not: those
// that came for one job count once. One that came up ends the row, and so does an hour.
func (w *world) judgeBoots() map[*config.NodeSet]*boots {
	sets := map[*config.NodeSet]*boots{}
	for _, m := range w.members {
		if sets[m.set] == nil {
			sets[m.set] = &boots{records: map[string]bootRecord{}, failed: map[time.Time]int{}, gangs: map[string]time.Time{}}
		}
		w.watchBoot(m, sets[m.set])
	}
	for _, set := range w.cfg.NodeSets {
		b := sets[set]
		if b == nil {
			continue
		}
		if b.up.After(b.newest) || w.isOld(b.newest, set.Flex.BootTimeout+breakerRest) {
			w.recovered = append(w.recovered, slices.Sorted(maps.Keys(b.records))...)
			b.records, b.failed = nil, nil
		}
		n := len(b.gangs)
		for _, failed := range b.failed {
			n += failed
		}
		if set.Flex.BootFailures > 0 && n >= set.Flex.BootFailures {
			w.blocked[set] = n
			until := b.newest
			for _, made := range b.gangs {
				until = later(until, made)
			}
			until = until.Add(set.Flex.BootTimeout + breakerRest)
			w.plan.Blocks = append(w.plan.Blocks, Block{set.Name, n, until})
			w.problem(blockedText(set, n))
		}
	}
	return sets
}

// watchBoot notes what the node and its instances say.
func (w *world) watchBoot(m *member, b *boots) {
	if r, ok := readBootRecord(m.Extra); ok {
		b.records[m.Name] = r
		b.failed[r.last] = max(b.failed[r.last], r.failed)
		b.newest = later(b.newest, r.last)
	}
	for _, in := range m.machines {
		if !w.ours(in) || in.Leaving() || in.Created.IsZero() || in.Unread != "" {
			continue
		}
		limit := m.set.Flex.BootTimeout
		switch {
		case m.power == up && !m.State.Has(slurm.NotResponding):
			b.up = later(b.up, in.Created)
		case limit > 0 && m.power == rising && !m.doubted && m.State.Base != slurm.Down && w.isOld(m.wantedSince(in), limit):
			b.late = append(b.late, m.Name)
			b.gangs[in.gang()] = later(b.gangs[in.gang()], in.Created)
		}
	}
}

// wantedSince is when an instance of the node was made, or if that is later, when
// the job was given the node that waits for it.
func (m *member) wantedSince(in machine) time.Time {
	if job := m.owner(); job != nil {
		return later(in.Created, job.Start)
	}
	return in.Created
}

// bootLoss is how much of a lease a boot may well take: an instance that is no
// shorter than that by what a job needs is as good as a new one.
const bootLoss = 5 * time.Minute

// isLeftover reports whether the instance of a rising node came for a job that
// has left the node, is from before another job was given the node, and cannot
// serve that one. Either it has had its time to boot: slurmctld hears no slurmd
// that booted before the node was last powered up, so it can never register. Or
// its lease ends before the job could be done.
func (w *world) isLeftover(m *member, in machine) bool {
	job, stamp := m.owner(), in.stamp()
	if m.power != rising || job == nil || stamp.Job == 0 || in.Created.IsZero() || !in.Created.Before(job.Start) ||
		slices.ContainsFunc(m.jobs, func(j *slurm.Job) bool { return j.ID == stamp.Job }) {
		return false
	}
	limit := m.set.Flex.BootTimeout
	return limit > 0 && w.isOld(in.Created, limit) || isTooShort(in, job, job.Start, m.set.Flex.MaxRunDuration)
}

// isTooShort reports whether the instance's lease ends before the job, if it
// began at start, could be done, and a lease of its own would not.
func isTooShort(in machine, job *slurm.Job, start time.Time, longest time.Duration) bool {
	end := in.end()
	if end.IsZero() || job.Limit.Kind != slurm.LimitSet || job.Limit.Duration > longest {
		return false
	}
	return end.Before(start.Add(job.Limit.Duration - bootLoss))
}

// end is when the instance's lease ends, or about when it will: until it runs
// Compute does not say, and the request that made it does. It is zero if neither
// is known.
func (in machine) end() time.Time {
	if !in.Terminates.IsZero() || in.group == nil {
		return in.Terminates
	}
	for _, r := range in.group.Requests {
		if r.State == mig.Succeeded && r.Names(in.Name) && r.Duration > 0 {
			return in.Created.Add(r.Duration)
		}
	}
	return time.Time{}
}

// giveUpBoots powers down the nodes whose instance has run for boot_timeout and
// no slurmd has registered from it, and keeps count of them in the nodes' Extra.
func (w *world) giveUpBoots(sets map[*config.NodeSet]*boots) {
	for _, set := range w.cfg.NodeSets {
		b := sets[set]
		if b == nil || len(b.late) == 0 {
			continue
		}
		reason := fmt.Sprintf("no slurmd has registered from its instance within boot_timeout %s", clock(set.Flex.BootTimeout))
		w.problem(slurm.Fold(b.late) + ": " + reason)
		byJob := map[*slurm.Job][]string{}
		var jobs []*slurm.Job
		for _, name := range b.late {
			job := w.nodes[name].owner()
			if byJob[job] == nil {
				jobs = append(jobs, job)
			}
			byJob[job] = append(byJob[job], name)
		}
		for _, job := range jobs {
			w.giveUpBoot(job, byJob[job], b, reason)
		}
	}
}

// giveUpBoot gives up the boots of a job's nodes, or of nodes that no job holds.
func (w *world) giveUpBoot(job *slurm.Job, nodes []string, b *boots, reason string) {
	records := map[string]string{}
	byRecord := map[string][]string{}
	for _, name := range nodes {
		if extra := w.nodes[name].Extra; extra == "" || HasBootRecord(*w.nodes[name].Node) { // else it is somebody else's, and stays
			records[name] = bootRecord{b.records[name].failed + 1, b.lastMade(w.nodes[name])}.String()
		}
		byRecord[records[name]] = append(byRecord[records[name]], name)
	}
	if job != nil {
		w.takeBack(job, GiveBack{Nodes: nodes, Extra: records, Reason: reason, Then: Requeue, Hopeless: true})
		return
	}
	for _, record := range slices.Sorted(maps.Keys(byRecord)) {
		change := SetNodes{Nodes: byRecord[record], State: "power_down_force", Reason: ReasonPrefix + reason, Why: Why(reason)}
		if record != "" {
			change.Extra = &record
		}
		w.setNodes(change)
	}
}

// forgetBoots clears the records of failed boots that count no longer.
func (w *world) forgetBoots() {
	empty := ""
	w.setNodes(SetNodes{Nodes: w.recovered, Extra: &empty, Why: "their nodeset's instances come up again, or have had time to"})
}

// isBlocked reports whether nothing is to be asked for a cohort because too many
// instances of its nodeset did not come up.
func (w *world) isBlocked(c *cohort) bool {
	n := w.blocked[c.set]
	if n > 0 {
		c.obstacle = blockedText(c.set, n)
	}
	return n > 0
}

func blockedText(set *config.NodeSet, n int) string {
	return fmt.Sprintf("nodeset %s is blocked, for %d instances in a row did not come up; an admin lifts that with: slurmflex unblock %[1]s",
		set.Name, n)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
