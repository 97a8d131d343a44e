package view

import (
	"fmt"
	"strings"
)

// reasons explains Slurm's reasons for a pending job. JOB is replaced by the job's address, and
// START by the planned start. Sources: squeue(1), JOB REASON CODES, and the additional reasons of
// 22.05 to 26.05.
var reasons = map[string]string{
	"Priority":          "It is waiting for its turn: jobs of higher priority go first",
	"Resources":         "It is waiting until Slurm has enough free nodes for it",
	"Dependency":        "It is waiting for another job that it depends on",
	"JobHeldUser":       "It is held by its owner; to release it: `scontrol release JOB`",
	"JobHeldAdmin":      "It is held by an admin or by slurmflex; an admin releases it with `scontrol release JOB`",
	"BeginTime":         "It cannot start before START",
	"None":              "Slurm has not considered it yet",
	"Reservation":       "It is waiting for its reservation to start",
	"Licenses":          "It is waiting for a license",
	"PartitionDown":     "Its partition is down",
	"PartitionInactive": "Its partition accepts no jobs at the moment",
	"PartitionNodeLimit": "It needs more nodes than the partition allows, or the partition is down; " +
		"see `scontrol show partition`",
	"PartitionTimeLimit": "Its time limit is longer than the partition allows (MaxTime in `scontrol show partition`); " +
		"to shorten it: `scontrol update jobid=JOB timelimit=TIME`",
	"DependencyNeverSatisfied": "It can never start, because the job that it depends on has failed; to remove it: `scancel JOB`",
	"BadConstraints":           "It can never start as it is: no node has what it requires",
	"NodeDown":                 "A node that it needs is down",
	"JobArrayTaskLimit":        "Its array already runs as many tasks at once as it may",
	"InvalidAccount": "Slurm does not accept its account; `sacctmgr show assoc` lists valid ones. " +
		"Without accounting, some versions of Slurm show this for a moment",
	"InvalidQOS":        "Slurm does not accept its quality of service; `sacctmgr show qos` lists valid ones",
	"AccountNotAllowed": "The partition does not accept its account (AllowAccounts in `scontrol show partition`)",
	"QOSNotAllowed":     "The partition or account does not accept its quality of service (AllowQos in `scontrol show partition`)",
	"AccountingPolicy":  limitText,
	"PartitionConfig": "It can never start as it is, because it needs more than the partition or the whole cluster has; " +
		"see `scontrol show partition`",
	"DeadLine":                    "It can no longer finish before its deadline",
	"JobHoldMaxRequeue":           "It is held because it was requeued too often; an admin releases it with `scontrol release JOB`",
	"job requeued in held state":  "It was requeued and is held; to release it: `scontrol release JOB`",
	"launch failed requeued held": "It failed to launch and is held; slurmd's log has the cause. To release it once that is fixed: `scontrol release JOB`",
	"ReservationDeleted":          "Its reservation no longer exists; to remove it from the job: `scontrol update jobid=JOB reservationname=`",
	"ReservationInvalid":          "It is not allowed to use its reservation; see `scontrol show reservation`",
	"Cleaning":                    "Slurm is cleaning up after its last run",
	"SchedDefer":                  "Slurm considers it in the next scheduling pass",
	"MpiPortsBusy":                "It is waiting for free MPI ports",
	"NvidiaImexChannels":          "It is waiting for a free IMEX channel",
	"FedJobLock":                  "It is waiting for another cluster of the federation",
}

// limitText explains the many reasons for limits.
const limitText = "A limit of its account or quality of service holds it back"

// pendingFor explains what a pending job waits for. start is when Slurm plans to start the job.
func pendingFor(j Job, start string) string {
	word, _, _ := strings.Cut(j.Reason, ",")
	if j.Reason == "" {
		word = "None"
	}
	text, known := reasons[word]
	switch {
	case word == "BeginTime" && j.StartAt.IsZero():
		text = "It cannot start yet"
	case known:
		text = strings.NewReplacer("JOB", j.address(), "START", start).Replace(text)
	case word == "ReqNodeNotAvail":
		text = "Nodes that it could use are down or reserved"
	case strings.HasPrefix(j.Reason, "Nodes required"):
		text = "The nodes that it needs are down, drained or reserved for others"
	case strings.HasPrefix(word, "QOS"), strings.HasPrefix(word, "Assoc"), strings.HasPrefix(word, "Max"):
		text = limitText
	case strings.HasPrefix(word, "BurstBuffer"):
		text = "It is waiting for its burst buffer"
	default:
		text = "It is waiting for something that slurmflex does not know"
	}
	if word == "None" {
		return text + "."
	}
	return fmt.Sprintf("%s (Slurm reason: %s).", text, j.Reason)
}
