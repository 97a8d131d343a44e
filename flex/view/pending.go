package view

import (
	"fmt"
	"strings"
)

// reasons say what a pending job waits for, by Slurm's word for it; JOB stands
// for its address, and START for when Slurm means to begin it.
// Source: squeue(1), JOB REASON CODES, and the words that 22.05 to 26.05 have
// beside those.
var reasons = map[string]string{
	"Priority":          "It waits for its turn in Slurm: jobs of higher priority come first",
	"Resources":         "It waits until Slurm has enough free nodes for it",
	"Dependency":        "It waits for another job that it depends on",
	"JobHeldUser":       "It is held by its owner: `scontrol release JOB` lets it go",
	"JobHeldAdmin":      "It is held by an admin or by slurmflex: an admin lets it go with `scontrol release JOB`",
	"BeginTime":         "It may not begin before START",
	"None":              "Slurm has not looked at it yet",
	"Reservation":       "It waits for its reservation to begin",
	"Licenses":          "It waits for a license",
	"PartitionDown":     "Its partition is down",
	"PartitionInactive": "Its partition takes no jobs now",
	"PartitionNodeLimit": "It asks for more nodes than its partition gives, or for a partition that is down: " +
		"`scontrol show partition` tells the limits",
	"PartitionTimeLimit": "Its time limit is longer than its partition allows: `scontrol show partition` tells MaxTime, " +
		"and `scontrol update jobid=JOB timelimit=TIME` shortens the job's",
	"DependencyNeverSatisfied": "It can never begin: the job that it depends on has failed; `scancel JOB` removes it",
	"BadConstraints":           "It can never begin as it is: no node has what it asks for",
	"NodeDown":                 "A node that it needs is down",
	"JobArrayTaskLimit":        "Enough tasks of its array run at once already",
	"InvalidAccount": "Slurm does not accept its account: `sacctmgr show assoc` lists those that it does; " +
		"where there is no accounting, some versions show this for a moment only",
	"InvalidQOS":        "Slurm does not accept its quality of service: `sacctmgr show qos` lists those that there are",
	"AccountNotAllowed": "Its partition does not take its account: `scontrol show partition` shows AllowAccounts",
	"QOSNotAllowed":     "Its partition or account does not take its quality of service: `scontrol show partition` shows AllowQos",
	"AccountingPolicy":  limitText,
	"PartitionConfig": "It can never begin as it is: it asks for more than its partition or the whole cluster has; " +
		"`scontrol show partition` shows the limits",
	"DeadLine":                    "It can no longer end before its deadline",
	"JobHoldMaxRequeue":           "It is held because it was requeued too often: an admin lets it go with `scontrol release JOB`",
	"job requeued in held state":  "It was requeued and is held: `scontrol release JOB` lets it go",
	"launch failed requeued held": "It could not be launched and is held: the admin finds the cause in slurmd's log, and `scontrol release JOB` lets it go",
	"ReservationDeleted":          "Its reservation is gone: `scontrol update jobid=JOB reservationname=` takes it off the job",
	"ReservationInvalid":          "It may not use its reservation: `scontrol show reservation` shows who may",
	"Cleaning":                    "What is left of its last run is being cleaned up",
	"SchedDefer":                  "Slurm looks at it in its next scheduling pass",
	"MpiPortsBusy":                "It waits for free MPI ports",
	"NvidiaImexChannels":          "It waits for a free IMEX channel",
	"FedJobLock":                  "It waits for another cluster of the federation",
}

// limitText is for the many words for limits.
const limitText = "A limit of its account or quality of service holds it back"

// pendingFor says what a pending job waits for. start is when Slurm means to
// begin it.
func pendingFor(j Job, start string) string {
	word, _, _ := strings.Cut(j.Reason, ",")
	if j.Reason == "" {
		word = "None"
	}
	text, known := reasons[word]
	switch {
	case word == "BeginTime" && j.StartAt.IsZero():
		text = "It may not begin yet"
	case known:
		text = strings.NewReplacer("JOB", j.address(), "START", start).Replace(text)
	case word == "ReqNodeNotAvail":
		text = "Nodes that it could have are down, or reserved; slurmflex reserves nodes from the end of their lease on, " +
			"and a shorter --time may fit before it"
	case strings.HasPrefix(j.Reason, "Nodes required"):
		text = "The nodes that it needs are down, drained or reserved for others"
	case strings.HasPrefix(word, "QOS"), strings.HasPrefix(word, "Assoc"), strings.HasPrefix(word, "Max"):
		text = limitText
	case strings.HasPrefix(word, "BurstBuffer"):
		text = "It waits for its burst buffer"
	default:
		text = "It waits for something that only Slurm knows"
	}
	if word == "None" {
		return text + "."
	}
	return fmt.Sprintf("%s (Slurm says %s).", text, j.Reason)
}
