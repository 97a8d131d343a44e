package site

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"slurmflex/slurm"
)

// NodesText is what scontrol show nodes -o prints of these nodes, in the form
// of 24.11.
func NodesText(nodes []slurm.Node) []byte {
	var out bytes.Buffer
	for _, n := range nodes {
		fmt.Fprintf(&out, "NodeName=%s Arch=x86_64 CoresPerSocket=52  CPUAlloc=208 CPUEfctv=208 CPUTot=208 CPULoad=1.07 "+
			"AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:8 NodeAddr=%[1]s NodeHostName=%[1]s Version=24.11.5 "+
			"OS=Linux 6.1.0-28-cloud-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)  RealMemory=1800000 AllocMem=0 "+
			"FreeMem=1790000 Sockets=2 Boards=1 State=%s ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "+
			"Partitions=%s  BootTime=None SlurmdStartTime=None LastBusyTime=%s ResumeAfterTime=None "+
			"CfgTRES=cpu=208,mem=1800000M,billing=208 AllocTRES= CurrentWatts=0 AveWatts=0 ",
			n.Name, n.State, strings.Join(n.Partitions, ","), clock(n.LastBusyTime))
		if n.Reason != "" {
			fmt.Fprintf(&out, " Reason=%s [root@2026-11-21T03:00:00]", n.Reason)
		}
		if n.Comment != "" {
			fmt.Fprintf(&out, " Comment=%s", n.Comment)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// JobsText is what squeue prints of these jobs in slurm.SqueueFormat.
func JobsText(jobs []slurm.Job) []byte {
	var out bytes.Buffer
	for _, j := range jobs {
		fmt.Fprintf(&out, "%d|%d|N/A|%s|%s|%s|%s|%d|%s|%s|%s\n", j.ID, j.ArrayID, j.Limit, j.State,
			slurm.Fold(j.Nodes), clock(j.Start), j.Priority, j.Partition, j.User, j.Reason)
	}
	return out.Bytes()
}

// ReservationsText is what scontrol show reservation -o prints of these.
func ReservationsText(reservations []slurm.Reservation) []byte {
	if len(reservations) == 0 {
		return []byte("No reservations in the system\n")
	}
	var out bytes.Buffer
	for _, r := range reservations {
		fmt.Fprintf(&out, "ReservationName=%s StartTime=%s EndTime=%s Duration=365-00:00:00 Nodes=%s NodeCnt=%d CoreCnt=%d "+
			"Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES TRES=cpu=%[6]d Users=root Groups=(null) "+
			"Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) MaxStartDelay=(null)\n",
			r.Name, clock(r.Start), clock(r.Start.AddDate(1, 0, 0)), slurm.Fold(r.Nodes), len(r.Nodes), 208*len(r.Nodes))
	}
	return out.Bytes()
}

// ResumeFile is what slurmctld writes for these jobs into SLURM_RESUME_FILE.
func ResumeFile(jobs []slurm.Job) []byte {
	var out bytes.Buffer
	var all []string
	out.WriteString(`{"jobs":[`)
	for i, j := range jobs {
		if i > 0 {
			out.WriteByte(',')
		}
		all = append(all, j.Nodes...)
		fmt.Fprintf(&out, `{"extra":null,"job_id":%d,"features":null,"nodes_alloc":%q,"nodes_resume":%[2]q,`+
			`"oversubscribe":"NO","partition":%q,"reservation":null}`, j.ID, slurm.Fold(j.Nodes), j.Partition)
	}
	fmt.Fprintf(&out, `],"all_nodes_resume":%q}`, slurm.Fold(all))
	return out.Bytes()
}

// clock is a time as Slurm prints it under TZ=UTC.
func clock(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
