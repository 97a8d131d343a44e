package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// pending explains what a job without nodes waits for.
func (t *teller) pending(j Job) {
	sets := t.choiceOf(j.Partition)
	last := t.lastDone(j, sets)
	if last != "" && j.isBack() {
		t.lead("%s", last)
		last = ""
	} else if blocked := allBlocked(sets); blocked != nil {
		t.lead("Nodeset %s is %s.", blocked.Name, blocked.BlockedForUsers(t.now))
	}
	cover := t.deadCover(j)
	if cover != "" {
		t.lead("No slurmflex daemon runs: no machines are requested for it until an admin starts the daemon or Slurm deletes reservation %s.", cover)
	}
	switch full := t.full(j); {
	case j.Obstacle != "":
		t.lead("%s.", strings.ToUpper(j.Obstacle[:1])+j.Obstacle[1:])
		if full != "" {
			t.fact("%s.", full)
		}
		if j.Reason != "" && j.Reason != "None" {
			t.fact("%s", pendingFor(j, t.at(j.StartAt)))
		}
	case full != "":
		t.lead("%s (Slurm reason: %s).", full, j.Reason)
	default:
		t.lead("%s", pendingFor(j, t.at(j.StartAt)))
	}
	if last != "" {
		t.fact("%s", last)
	}
	if len(sets) == 0 {
		t.fact("Its partition has no flex-start nodes, so slurmflex has no part in this.")
		return
	}
	switch {
	case !j.NextAt.IsZero():
		t.fact("slurmflex requests machines for it again from %s, once it lacks nothing else.", t.on(j.NextAt))
	case j.Obstacle != "":
		t.fact("slurmflex requests machines for it as soon as that has changed.")
	case cover != "":
	default:
		t.fact("slurmflex has not requested machines yet; it does so once Slurm may start the job.")
	}
	if j.NodeCount > 0 {
		t.fact("%s.", j.needs())
	}
	if fits := t.fits(j, sets); fits > 0 {
		t.fact("A --time of %s or less may fit on machines that are idle, before their lease ends.", fits.Limit())
	}
	for _, set := range sets {
		if set.Block != nil {
			t.fact("Nodeset %s is %s.", set.Name, set.BlockedForUsers(t.now))
		}
		if slurm.LacksNodes(j.Reason) {
			t.fact("%s.", set.free())
			t.holders(set)
		}
	}
}

// deadCover returns the reservation that keeps the job from powered-down nodes without a daemon that
// requests machines for it; empty if there is none.
func (t *teller) deadCover(j Job) string {
	at := slices.IndexFunc(t.Listed, func(p Problem) bool { return p.Kind == "cover-without-daemon" })
	if at < 0 || !slurm.LacksNodes(j.Reason) && j.Reason != "Reservation" {
		return ""
	}
	return t.Listed[at].About
}

// isBack reports whether a pending job waits only because slurmflex or Slurm has taken its nodes:
// slurmflex holds it, it may not start yet, or Slurm has not considered it again.
func (j Job) isBack() bool {
	return j.isHeldByUs() || slices.Contains([]string{"", "None", slurm.BeginTime}, j.Reason)
}

// isHeldByUs reports whether slurmflex has held the job, and not an admin or Slurm.
func (j Job) isHeldByUs() bool { return j.Reason == "JobHeldAdmin" && memo.ExplainsHold(j.Told) }

// allBlocked returns the first nodeset if all of them are blocked; otherwise nil.
func allBlocked(sets []NodeSet) *NodeSet {
	if len(sets) == 0 || slices.ContainsFunc(sets, func(s NodeSet) bool { return s.Block == nil }) {
		return nil
	}
	return &sets[0]
}

// lastDone explains why and when a pending job lost its nodes, and when it can start again; empty
// if slurmflex has not recorded the reason.
func (t *teller) lastDone(j Job, sets []NodeSet) string {
	done, ok := memo.DoneOf(j.Told)
	held := j.isHeldByUs()
	switch {
	case !ok && held:
		return fmt.Sprintf("It is held; last message to its owner: %s.", t.brief(memo.Text(j.Told)))
	case !ok:
		return ""
	}
	what := "Requeued"
	if done.Deed == memo.JobHeld {
		what = "Held"
	}
	if at := t.doneAt(j, done); !at.IsZero() {
		what += " at " + t.at(at)
	}
	what += ": " + t.brief(done.Reason)
	switch blocked := allBlocked(sets); {
	case held:
		what += "; an admin releases it once the cause is fixed"
	case j.Reason == slurm.BeginTime && !j.StartAt.IsZero():
		what += "; it can start again at " + t.at(j.StartAt)
		if blocked != nil {
			what += fmt.Sprintf(", but nodeset %s is blocked%s", blocked.Name, blocked.Block.until(t.at))
		}
	case blocked != nil:
		what += fmt.Sprintf("; nodeset %s is blocked%s", blocked.Name, blocked.Block.until(t.at))
	}
	return what + "."
}

// doneAt returns when a job lost its nodes, according to its AdminComment or to the daemon's last
// action on the job. It returns zero if neither is known.
func (t *teller) doneAt(j Job, done memo.Done) time.Time {
	if !done.At.IsZero() {
		return done.At
	}
	for _, a := range t.Actions { // newest first
		if a.Job == j.ID && a.Error == "" && slices.Contains([]string{"return_nodes", "requeue_job"}, a.Kind) {
			return a.At
		}
	}
	return time.Time{}
}

// full explains that jobs hold the nodes that the job needs, and until when. It returns an empty
// text if nodes are out of service for another reason, or if enough of them are free.
func (t *teller) full(j Job) string {
	if !slurm.LacksNodes(j.Reason) {
		return ""
	}
	all, first, ok := t.stocksOf(j)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("%d of %s of %s are in use", len(all.ends), Count(all.size, "node"), nodesets(all.names))
	if all.free == 0 {
		text = fmt.Sprintf("All %s of %s are in use", Count(all.size, "node"), nodesets(all.names))
	}
	them := "them"
	if len(first.names) < len(all.names) {
		them = "those of " + nodesets(first.names)
	}
	when := "one of " + them + " is free"
	if lacks := first.lacks(j); lacks > 1 {
		when = fmt.Sprintf("%d of %s are free", lacks, them)
	}
	latest := ""
	if at := first.startOf(j); at.After(t.now) {
		latest = " at " + t.on(at) + " at the latest"
	}
	switch word, _, _ := strings.Cut(j.Reason, ","); {
	case word != "Priority" && latest != "":
		return text + "; it can start when " + when + "," + latest
	case word != "Priority":
		return text + "; it can start when " + when
	case latest != "":
		return text + ", and jobs of higher priority go first; " + when + latest
	}
	return text + ", and jobs of higher priority go first"
}

// stocksOf returns all flex nodes that the job may get, and those of the partition that has enough of
// them first: Slurm runs a job in one partition. ok is false if one of the partitions has enough
// free nodes, or nodes that are neither free nor in use.
func (t *teller) stocksOf(j Job) (all, first stock, ok bool) {
	var large []string // partitions
	for _, partition := range strings.Split(j.Partition, ",") {
		s := t.stockOf(partition)
		switch {
		case s.size < max(j.NodeCount, 1): // it has too few for the job
			continue
		case s.lacks(j) <= 0 || s.free+len(s.ends) != s.size:
			return all, first, false
		case large == nil || soonestFirst(s.startOf(j), first.startOf(j)) < 0:
			first = s
		}
		large = append(large, partition)
	}
	return t.stockOf(strings.Join(large, ",")), first, large != nil
}

// stock is the flex nodes of partitions.
type stock struct {
	names      []string // of the nodesets
	size, free int
	ends       []time.Time // when nodes that jobs hold are free, earliest first
}

// lacks returns the number of nodes that must become free for the job.
func (s stock) lacks(j Job) int { return max(j.NodeCount, 1) - s.free }

// startOf returns when a job that lacks nodes has enough; zero if unknown.
func (s stock) startOf(j Job) time.Time { return s.ends[s.lacks(j)-1] }

// stockOf returns the flex nodes of a partition, or of several partitions joined by commas.
func (t *teller) stockOf(partitions string) (s stock) {
	for _, set := range t.choiceOf(partitions) {
		s.names = append(s.names, set.Name)
		s.size, s.free = s.size+set.Size, s.free+set.countFree()
		s.ends = append(s.ends, t.freeAt(set)...)
	}
	slices.SortFunc(s.ends, soonestFirst)
	return s
}

// choiceOf returns the flex nodesets of partitions like setsOf. Free nodes that are reserved for
// other jobs have a state of their own.
func (t *teller) choiceOf(partitions string) []NodeSet {
	reserved := map[string]bool{}
	for _, j := range t.Jobs {
		names, _ := slurm.Expand(j.Awaits)
		for _, name := range names {
			reserved[name] = true
		}
	}
	sets := t.setsOf(partitions)
	for i, set := range sets {
		sets[i].States = nil
		for _, n := range set.States {
			sets[i].States = append(sets[i].States, n.split(reserved)...)
		}
	}
	return sets
}

// split gives those of free nodes that are reserved for jobs a state of their own.
func (n Nodes) split(reserved map[string]bool) (parts []Nodes) {
	if n.State != idle && n.State != poweredDown {
		return []Nodes{n}
	}
	names, _ := slurm.Expand(n.Nodes)
	for _, is := range []bool{false, true} {
		part := n
		some := keep(names, func(name string) bool { return reserved[name] == is })
		part.Nodes, part.Count = slurm.Fold(some), len(some)
		if is {
			part.State = reservedForJobs
		}
		if len(some) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// freeAt returns when each node of a nodeset that jobs hold is free at the latest, zero if unknown. A
// node that is out of service is not free when its jobs end.
func (t *teller) freeAt(set NodeSet) []time.Time {
	until := map[string]time.Time{}
	for _, h := range t.holdersOf(set) { // the last job of a node ends last
		names, _ := slurm.Expand(h.nodes)
		for _, name := range names {
			until[name] = h.until
		}
	}
	for _, n := range set.States {
		if !n.isOut() {
			continue
		}
		names, _ := slurm.Expand(n.Nodes)
		for _, name := range names {
			delete(until, name)
		}
	}
	return slices.Collect(maps.Values(until))
}

func nodesets(names []string) string {
	if len(names) == 1 {
		return "nodeset " + names[0]
	}
	return "nodesets " + strings.Join(names, " and ")
}

// fits returns the longest time limit, in whole minutes, that ends before the leases of enough idle
// machines do. It returns 0 if the job waits for something else, or if its own limit is already as
// short.
func (t *teller) fits(j Job, sets []NodeSet) Seconds {
	if word, _, _ := strings.Cut(j.Reason, ","); word != "ReqNodeNotAvail" {
		return 0
	}
	lacks, in := max(j.NodeCount, 1), map[string]bool{}
	for _, set := range sets {
		in[set.Name] = true
		lacks -= set.count(poweredDown)
	}
	var ends []time.Time
	for _, r := range t.Rows {
		if in[r.NodeSet] && r.State == Idle && !r.EndsAt.IsZero() {
			ends = append(ends, slices.Repeat([]time.Time{r.EndsAt}, r.Count)...)
		}
	}
	if lacks <= 0 || lacks > len(ends) {
		return 0
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	// The reservation starts on the minute.
	left := ends[lacks-1].Sub(t.now).Truncate(time.Minute) - 2*time.Minute
	if left < time.Minute || j.Limit > 0 && time.Duration(j.Limit) <= left {
		return 0
	}
	return Seconds(left)
}

// countFree counts the nodes that Slurm could allocate now.
func (s NodeSet) countFree() int { return s.count(idle) + s.count(poweredDown) }

func (s NodeSet) count(state string) (n int) {
	for _, nodes := range s.States {
		if nodes.State == state {
			n += nodes.Count
		}
	}
	return n
}

// needs describes the resources that a pending job requests.
func (j Job) needs() string {
	text := "It needs "
	if strings.ContainsAny(j.ArrayTask, "-,") {
		text = "Each of its tasks needs "
	}
	text += Count(j.NodeCount, "node")
	switch {
	case j.GPUs > 0 && j.NodeCount == 1:
		text += " with " + Count(j.GPUs, "GPU")
	case j.GPUs > 0:
		text += fmt.Sprintf(" with %s each", Count(j.GPUs, "GPU"))
	}
	return text
}

// free counts the nodes that Slurm could allocate now, and describes the others.
func (s NodeSet) free() string {
	count, nodes := map[string]int{}, s.countFree()
	var words []string
	for _, n := range s.States {
		if count[n.State] == 0 {
			words = append(words, n.State)
		}
		count[n.State] += n.Count
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", count[word], word)
	}
	gpus := ""
	if machine, known := mig.KnownMachine(s.Machine); known && nodes*machine.GPUs > 0 {
		gpus = " with " + Count(nodes*machine.GPUs, "GPU")
	}
	text := fmt.Sprintf("Free in nodeset %s: %d of %s%s", s.Name, nodes, Count(s.Size, "node"), gpus)
	if len(words) == 0 {
		return text
	}
	return text + " (" + strings.Join(words, ", ") + ")"
}

// holder is a job that holds nodes of a nodeset.
type holder struct {
	Job
	nodes string    // hostlist
	until time.Time // at the latest; zero if unknown
}

// shownHolders is how many jobs a story names outside the details.
const shownHolders = 3

// holders lists the jobs that hold nodes of a nodeset with their ends, earliest first.
func (t *teller) holders(set NodeSet) {
	all, say := t.holdersOf(set), t.fact
	for i, h := range all {
		text := fmt.Sprintf("Job %s%s has %s", h.Name(), inBrackets(h.User), h.nodes)
		switch {
		case !h.until.IsZero():
			text += " until " + t.on(h.until) + " at the latest"
		case !slurm.JobState(h.State).AtWork():
			text += ", not started yet"
		}
		if i == shownHolders {
			say("%s.", moreJobs(len(all)-i, set))
			say = t.detail
		}
		say("%s.", text)
	}
}

func moreJobs(n int, set NodeSet) string {
	if n == 1 {
		return "Another job has nodes of nodeset " + set.Name
	}
	return fmt.Sprintf("%d more jobs have nodes of nodeset %s", n, set.Name)
}

func (t *teller) holdersOf(set NodeSet) []holder {
	in := map[string]bool{}
	for _, n := range set.States {
		names, _ := slurm.Expand(n.Nodes)
		for _, name := range names {
			in[name] = true
		}
	}
	var all []holder
	for _, j := range t.Jobs {
		names, _ := slurm.Expand(j.Nodes)
		names = keep(names, func(name string) bool { return in[name] })
		if len(names) > 0 {
			all = append(all, holder{Job: j, nodes: slurm.Fold(names), until: t.end(j)})
		}
	}
	slices.SortStableFunc(all, func(a, b holder) int {
		return soonestFirst(a.until, b.until)
	})
	return all
}

// soonestFirst orders times, with unknown ones last.
func soonestFirst(a, b time.Time) int {
	return cmp.Or(cmp.Compare(unknownLast(a), unknownLast(b)), a.Compare(b))
}

func unknownLast(at time.Time) int {
	if at.IsZero() {
		return 1
	}
	return 0
}

// end returns when a job ends at the latest: at its time limit, or when the first of its leases
// ends. It returns zero if neither is known.
func (v View) end(j Job) (end time.Time) {
	if j.Limit > 0 && !j.StartAt.IsZero() && slurm.JobState(j.State).AtWork() {
		end = j.StartAt.Add(time.Duration(j.Limit))
	}
	for _, r := range v.Rows {
		if slices.Contains(r.Jobs, j.ID) && !r.EndsAt.IsZero() && (end.IsZero() || r.EndsAt.Before(end)) {
			end = r.EndsAt
		}
	}
	return end
}
