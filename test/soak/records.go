package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
)

// The functions below print what Slurm's commands would, in the form of 24.11
// and as far as package slurm reads it.

func nodesText(nodes []slurm.Node) string {
	var out strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&out, "NodeName=%s CPUTot=2 Gres=(null) NodeAddr=%[1]s NodeHostName=%[1]s  RealMemory=1800000 AllocMem=0 "+
			"State=%s ThreadsPerCore=2 Partitions=%s  BootTime=%s SlurmdStartTime=None LastBusyTime=%s ResumeAfterTime=None ",
			n.Name, n.State, strings.Join(n.Partitions, ","), moment(n.BootTime), moment(n.LastBusyTime))
		if n.Reason != "" {
			fmt.Fprintf(&out, " Reason=%s [%s@2026-11-21T03:00:00]", n.Reason, n.ReasonBy)
		}
		if n.Comment != "" {
			fmt.Fprintf(&out, " Comment=%s", n.Comment)
		}
		if n.Extra != "" {
			fmt.Fprintf(&out, " Extra=%s", n.Extra)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func jobRecordsText(records []slurm.JobRecord, mark string) string {
	flag := map[bool]int{true: 1}
	var out strings.Builder
	for _, r := range records {
		fmt.Fprintf(&out, "%d|%s|N/A|%s|%d|%d|%s\n", r.ID, mark, r.State, flag[r.Requeue], flag[r.Batch], cmp.Or(r.AdminComment, "(null)"))
	}
	return out.String()
}

func reservationsText(reservations []slurm.Reservation) string {
	if len(reservations) == 0 {
		return "No reservations in the system\n"
	}
	var out strings.Builder
	for _, r := range reservations {
		fmt.Fprintf(&out, "ReservationName=%s StartTime=%s EndTime=%s Duration=365-00:00:00 Nodes=%s NodeCnt=%d Flags=%s Users=%s State=INACTIVE\n",
			r.Name, moment(r.Start), moment(r.End), slurm.Fold(r.Nodes), len(r.Nodes), strings.Join(r.Flags, ","), strings.Join(r.Users, ","))
	}
	return out.String()
}

func partitionsText(partitions []slurm.Partition) string {
	share := map[bool]string{true: "EXCLUSIVE", false: "NO"}
	idle := map[bool]string{true: "YES", false: "NO"}
	var out strings.Builder
	for _, p := range partitions {
		fmt.Fprintf(&out, "PartitionName=%s MaxTime=UNLIMITED Nodes=%s OverSubscribe=%s State=UP PowerDownOnIdle=%s\n",
			p.Name, slurm.Fold(p.Nodes), share[p.Exclusive], idle[p.PowerDownOnIdle])
	}
	return out.String()
}

func slurmConfText(config slurm.Config, now time.Time) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Configuration data as of %s\n", moment(now))
	for _, key := range slices.Sorted(maps.Keys(config)) {
		fmt.Fprintf(&out, "%-24s= %s\n", key, config[key])
	}
	return out.String()
}

// moment is a time as Slurm prints it under TZ=UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
