package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// pending explains a job without nodes.
func (e *explainer) pending(j Job) {
	e.State, e.Cause = e.stateOfPending(j), e.brief(e.causeOf(j))
	e.Request, e.Next, e.YouCan = j.needs(), e.nextOfPending(j), e.mayDo(j)
	if j.Reason != "" && j.Reason != "None" && !strings.Contains(e.Cause, j.Reason) {
		e.detail("Slurm's reason: %s.", j.Reason)
	}
}

// stateOfPending returns the state of a job without nodes.
func (e *explainer) stateOfPending(j Job) string {
	names := namesOf(e.setsOf(j.Partition))
	done, isDone := memo.DoneOf(j.Told)
	switch {
	case j.isHeldByUs() && isDone && !done.At.IsZero():
		return "HELD by slurmflex since " + e.at(done.At)
	case j.isHeldByUs():
		return "HELD by slurmflex"
	case j.Reason == "JobHeldUser":
		return "HELD by its owner"
	case j.isHeld():
		return "HELD"
	case j.Reason == slurm.BeginTime && !j.StartAt.IsZero():
		return "WAITS until " + e.on(j.StartAt)
	case slurm.LacksNodes(j.Reason) && len(names) > 0:
		return "WAITS for nodes of " + strings.Join(names, ", ")
	}
	return "WAITS in partition " + j.Partition
}

// causeOf returns the one cause for which a job without nodes waits, which all outputs show: a missing
// daemon or an unread region, if that matters to the job; then slurmflex's cause, or else Slurm's
// with its reason in brackets.
func (v View) causeOf(j Job) string {
	sets := v.setsOf(j.Partition)
	ours := len(sets) > 0 && slurm.LacksNodes(j.Reason) || v.isBehindDeadCover(j)
	all := func(is func(NodeSet) bool) bool {
		return len(sets) > 0 && !slices.ContainsFunc(sets, func(set NodeSet) bool { return !is(set) })
	}
	isUnread := func(set NodeSet) bool { return v.region(set.Region).ReadFail != "" }
	isBlocked := func(set NodeSet) bool { return set.Block != nil }
	done, isDone := memo.DoneOf(j.Told)
	switch {
	case j.isHeldByUs() && isDone:
		return done.Reason
	case j.isHeldByUs():
		return strings.TrimSuffix(memo.Text(j.Told), ".")
	case ours && v.inactive() != "" && (v.isBehindDeadCover(j) || slices.ContainsFunc(sets, func(set NodeSet) bool { return set.Pends })):
		return v.inactive()
	case ours && all(isUnread):
		return v.unreadText(sets[0].Region)
	case j.Obstacle != "":
		return j.Obstacle
	case ours && all(isBlocked):
		return fmt.Sprintf("nodeset %s is %s", sets[0].Name, sets[0].blocked(v.SeenAt))
	case isDone && slices.Contains([]string{"", "None", slurm.BeginTime}, j.Reason):
		return fmt.Sprintf("%s: %s", done.Deed, done.Reason) + bracketed(j.Reason)
	}
	return slurmsCause(j.Reason)
}

// isBehindDeadCover reports whether a reservation keeps the job from powered-down nodes without a
// daemon that requests machines for it.
func (v View) isBehindDeadCover(j Job) bool {
	dead := slices.ContainsFunc(v.Listed, func(p scene.Problem) bool { return p.Key == "cover-without-daemon" })
	return dead && (slurm.LacksNodes(j.Reason) || j.Reason == "Reservation")
}

// isHeld reports whether the job does not start before somebody releases it.
func (j Job) isHeld() bool {
	return strings.HasPrefix(j.Reason, "JobHeld") || strings.Contains(j.Reason, "held") || slices.Contains([]string{"ReservationDeleted", "ReservationInvalid"}, reasonWord(j.Reason))
}

// isHeldByUs reports whether slurmflex has held the job, and not an admin or Slurm.
func (j Job) isHeldByUs() bool { return j.Reason == "JobHeldAdmin" && memo.ExplainsHold(j.Told) }

// nextOfPending returns what happens next to a job without nodes.
func (e *explainer) nextOfPending(j Job) string {
	sets := e.setsOf(j.Partition)
	switch {
	case len(sets) == 0:
		return "slurmflex has no part in this: the partition has no flex-start nodes"
	case j.isHeldByUs():
		return "once the cause is fixed, an admin releases it: scontrol release " + j.address()
	case e.Daemon == nil && e.Cause == e.inactive():
		return "an admin restarts it: systemctl restart slurmflex"
	case e.Cause == e.brief(e.unreadText(sets[0].Region)) && e.Cause != "":
		return "each pass tries to read the region again"
	case j.isHeld(), j.State == slurm.JobPending && j.Reason == "DependencyNeverSatisfied":
		return ""
	case !j.NextAt.IsZero():
		return "machines are requested again from " + e.on(j.NextAt)
	}
	next := "its request follows once Slurm has planned it"
	switch {
	case j.Obstacle != "":
		next = "its request follows when that has changed"
	case needsChange(j.Reason):
		return "it starts only after a change of the job or of Slurm's settings"
	case !slurm.LacksNodes(j.Reason):
		next = "its request follows once Slurm may start it"
	case !sets[0].Pends:
		next = "its request follows once Slurm has given it nodes"
	}
	switch {
	case !j.FreesAt.IsZero() && j.FreesAt.After(e.View.SeenAt):
		return next + "; the first of these jobs ends by " + e.on(j.FreesAt)
	case !j.StartAt.IsZero() && j.Reason != slurm.BeginTime:
		return next + "; Slurm expects to start it at " + e.on(j.StartAt)
	}
	return next
}

// mayDo returns what the owner can do about a job without nodes.
func (e *explainer) mayDo(j Job) string {
	switch fits := e.fits(j); {
	case j.isHeldByUs():
		return ""
	case fits > 0:
		return fmt.Sprintf("scontrol update jobid=%s timelimit=%s    (it may fit on idle machines before their lease ends)", j.component(), fits.Limit())
	case memo.Has(j.Told, memo.KeepsNone):
		return "give it a shorter --time: after a loss, it keeps its other machines only if it fits the rest of their lease"
	case remedies[reasonWord(j.Reason)] != "":
		return strings.NewReplacer("jobid=JOB", "jobid="+j.component(), "JOB", j.address()).Replace(remedies[reasonWord(j.Reason)])
	case j.Unused > j.GPUs:
		return "run several such tasks as steps of one job (srun --exact): no other job can use the rest of its nodes' GPUs"
	}
	return ""
}

// fits returns the longest time limit, in whole minutes, that ends before the leases of enough idle
// machines do. It returns 0 if the job waits for something else, or if its own limit is already as
// short.
func (e *explainer) fits(j Job) Seconds {
	if !slurm.LacksNodes(j.Reason) {
		return 0
	}
	in, needs := namesOf(e.setsOf(j.Partition)), max(j.NodeCount, 1)
	var ends []time.Time
	for _, r := range e.Rows {
		if slices.Contains(in, r.NodeSet) && r.State == Idle && !r.EndsAt.IsZero() {
			ends = append(ends, slices.Repeat([]time.Time{r.EndsAt}, r.Count)...)
		}
	}
	if needs > len(ends) {
		return 0
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	// The reservation starts on the minute.
	left := ends[needs-1].Sub(e.View.SeenAt).Truncate(time.Minute) - 2*time.Minute
	if left < time.Minute || j.Limit > 0 && time.Duration(j.Limit) <= left {
		return 0
	}
	return Seconds(left)
}

// needs describes what a pending job requests of Slurm.
func (j Job) needs() string {
	text := Count(max(j.NodeCount, 1), "node")
	switch of := j.GPUs + j.Unused; {
	case j.Unused > 0:
		text += fmt.Sprintf(", %d of the %d GPUs of each", j.GPUs, of)
	case j.GPUs > 0:
		text += ", " + Count(j.GPUs, "GPU") + " each"
	}
	if strings.ContainsAny(j.ArrayTask, "-,") {
		text += ", for each task"
	}
	if j.Limit > 0 {
		text += ", for " + Span(time.Duration(j.Limit))
	}
	return text + " in partition " + j.Partition
}

// causes are Slurm's reasons in words. Sources: squeue(1), JOB REASON CODES, and the additional reasons
// of 22.05 to 26.05.
var causes = map[string]string{
	"Priority":                    "jobs of higher priority go first",
	"Resources":                   "too few nodes are free",
	"Dependency":                  "it depends on another job",
	"JobHeldUser":                 "its owner holds it",
	"JobHeldAdmin":                "an admin or Slurm holds it",
	"BeginTime":                   "it may not start yet",
	"None":                        "Slurm has not considered it yet",
	"Reservation":                 "its reservation has not started",
	"Licenses":                    "no license is free",
	"PartitionDown":               "its partition is down",
	"PartitionInactive":           "its partition accepts no jobs",
	"PartitionNodeLimit":          "it needs more nodes than the partition allows, or the partition is down",
	"PartitionTimeLimit":          "its time limit is longer than the partition allows",
	"DependencyNeverSatisfied":    "its dependency can never be satisfied",
	"BadConstraints":              "no node has what it requires",
	"NodeDown":                    "a node that it needs is down",
	"ReqNodeNotAvail":             "no node that it may use is free",
	"Reserved for maintenance":    "the nodes that it may use are reserved for maintenance, or their leases end before it would",
	"JobArrayTaskLimit":           "its array runs as many tasks at once as it may",
	"InvalidAccount":              "Slurm does not accept its account",
	"InvalidQOS":                  "Slurm does not accept its quality of service",
	"AccountNotAllowed":           "the partition does not accept its account",
	"QOSNotAllowed":               "the partition or account does not accept its quality of service",
	"AccountingPolicy":            limitText,
	"PartitionConfig":             "it needs more than the partition or the cluster has",
	"DeadLine":                    "it can no longer finish before its deadline",
	"JobHoldMaxRequeue":           "it was requeued too often",
	"job requeued in held state":  "it was requeued and held",
	"launch failed requeued held": "it failed to launch; slurmd's log has the cause",
	"ReservationDeleted":          "its reservation no longer exists, so Slurm holds it",
	"ReservationInvalid":          "it may not use its reservation, or its reservation no longer exists",
	"Cleaning":                    "Slurm cleans up after its last run",
	"SchedDefer":                  "Slurm considers it in its next scheduling pass",
	"MpiPortsBusy":                "no MPI ports are free",
	"NvidiaImexChannels":          "no IMEX channel is free",
	"FedJobLock":                  "another cluster of the federation has it",
	"Nodes required":              "the nodes that it needs are down, drained or reserved for others",
	"BurstBuffer":                 "its burst buffer is not ready",
}

// limitText explains the many reasons for limits.
const limitText = "a limit of its account or quality of service"

// remedies are the commands that help for some reasons. JOB is replaced by the job's address.
var remedies = map[string]string{
	"JobHeldUser":              "scontrol release JOB",
	"JobHeldAdmin":             "scontrol release JOB    (as an admin)",
	"PartitionNodeLimit":       "scontrol show partition",
	"PartitionTimeLimit":       "scontrol update jobid=JOB timelimit=TIME    (MaxTime in scontrol show partition)",
	"DependencyNeverSatisfied": "scancel JOB",
	"InvalidAccount":           "sacctmgr show assoc    (without accounting, some versions of Slurm show this for a moment)",
	"InvalidQOS":               "sacctmgr show qos",
	"PartitionConfig":          "scontrol show partition",
	"ReservationDeleted":       "scontrol release JOB",
	"ReservationInvalid":       "scontrol update jobid=JOB reservation=",

	"job requeued in held state": "scontrol release JOB",
}

// needsChange reports whether time alone does not help a job that waits for this reason.
func needsChange(reason string) bool {
	word := reasonWord(reason)
	return remedies[word] != "" || strings.Contains(word, "PerJob") || strings.HasSuffix(word, "NotSatisfied") ||
		slices.Contains([]string{"BadConstraints", "AccountNotAllowed", "QOSNotAllowed"}, word)
}

// reasonWord returns the word of a reason without what Slurm adds to it.
func reasonWord(reason string) string {
	word, _, _ := strings.Cut(reason, ",")
	switch {
	case reason == "":
		return "None"
	case strings.HasPrefix(reason, "Nodes required"):
		return "Nodes required"
	case strings.HasSuffix(reason, "Reserved for maintenance"):
		return "Reserved for maintenance"
	case strings.HasPrefix(reason, "Reservation ") && strings.HasSuffix(reason, " is invalid"):
		return "ReservationInvalid"
	case strings.HasPrefix(reason, "Reservation "): // and its name, and was deleted
		return "ReservationDeleted"
	case strings.HasPrefix(word, "BurstBuffer"):
		return "BurstBuffer"
	}
	return word
}

// slurmsCause explains in words why Slurm does not start a job, with Slurm's reason in brackets.
func slurmsCause(reason string) string {
	word := reasonWord(reason)
	text, known := causes[word]
	if !known {
		if text = "something that slurmflex does not know"; strings.HasPrefix(word, "QOS") || strings.HasPrefix(word, "Assoc") || strings.HasPrefix(word, "Max") {
			text = limitText
		}
	}
	return text + bracketed(reason)
}

// bracketed returns the first words of Slurm's reason, or another text, in brackets; empty for none.
func bracketed(reason string) string {
	word, _, _ := strings.Cut(reason, ",")
	if word == "" || word == "None" {
		return ""
	}
	return " (" + word + ")"
}
