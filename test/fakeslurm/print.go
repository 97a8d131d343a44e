package fakeslurm

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
)

// owners is printed in every field that the model does not know. The known fields hold Slurm's
// own words. The others hold texts of job owners, which may contain anything.
const owners = "x AdminComment=flex-start: told 2000-01-01T00:00:00Z: x|1|1|\n1|1|N/A|1:00|RUNNING|alpha-gang-[0-5]|x\x1b[31m\xff"

// PrintNodes formats nodes as scontrol show nodes -o does.
func PrintNodes(nodes []slurm.Node) string {
	if len(nodes) == 0 {
		return "No nodes in the system\n"
	}
	text := &strings.Builder{}
	for _, n := range nodes {
		fmt.Fprintf(text, "NodeName=%s Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=%[2]d CPUTot=%[2]d CPULoad=0.07 "+
			"AvailableFeatures=%[8]s ActiveFeatures=%[8]s Gres=%[7]s NodeAddr=%[1]s NodeHostName=%[1]s Version=24.11.5 "+
			"OS=Linux 6.1.0-28-cloud-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)  RealMemory=1800000 AllocMem=0 "+
			"FreeMem=1790000 Sockets=2 Boards=1 State=%[3]s ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "+
			"Partitions=%[4]s  BootTime=%[5]s SlurmdStartTime=None LastBusyTime=%[6]s ResumeAfterTime=None "+
			"CfgTRES=cpu=2,mem=1800000M,billing=2 AllocTRES= CurrentWatts=0 AveWatts=0 ",
			n.Name, coresPerNode, n.State, null(strings.Join(n.Partitions, ",")), timeText(n.BootTime, "None"), timeText(n.LastBusyTime, "Unknown"), null(n.Gres), null(strings.Join(n.Features, ",")))
		if n.Reason != "" {
			fmt.Fprintf(text, " Reason=%s [%s@2000-01-01T00:00:00]", n.Reason, n.ReasonBy)
		}
		for _, field := range []struct{ key, value string }{{"Comment", n.Comment}, {"Extra", n.Extra}} {
			if field.value != "" {
				fmt.Fprintf(text, " %s=%s", field.key, field.value)
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}

// PrintJobs formats jobs as squeue -h with slurm.SqueueFormat(mark) does.
func PrintJobs(jobs []slurm.Job, mark string) string {
	text := &strings.Builder{}
	for _, j := range jobs {
		columns := map[string]string{
			"%A": idText(j.ID), "%i": address(j), "%K": cmp.Or(j.ArrayTask, "N/A"), "%l": j.Limit.String(), "%T": string(j.State),
			"%N": slurm.Fold(j.Nodes), "%S": timeText(j.Start, "N/A"), "%Q": strconv.FormatUint(j.Priority, 10),
			"%P": j.Partition, "%u": j.User, "%a": null(j.Account), "%D": strconv.Itoa(j.NodeCount), "%C": strconv.Itoa(j.CPUs), "%c": strconv.Itoa(j.NodeCPUs), "%m": cmp.Or(j.Memory, "0"),
			"%Y": null(slurm.Fold(j.Planned)), "%n": slurm.Fold(j.Needs), "%x": slurm.Fold(j.Excludes), "%v": null(j.Reservation), "%r": j.Reason,
		}
		columns["%f"], columns["%b"] = null(j.Features), cmp.Or(j.Gres, "N/A")
		row := strings.Split(slurm.SqueueFormat(mark), "|")
		for i, column := range row {
			bare := strings.Trim(strings.ReplaceAll(column, mark, ""), "<>")
			row[i] = strings.ReplaceAll(column, bare, known(columns, bare))
		}
		text.WriteString(strings.Join(row, "|") + "\n")
	}
	return text.String()
}

// address returns squeue's name for a job.
func address(j slurm.Job) string {
	switch {
	case j.HetID != 0:
		return fmt.Sprintf("%d+%d", j.HetID, j.HetOffset)
	case j.IsTaskSet() || strings.Contains(j.ArrayTask, ","):
		return fmt.Sprintf("%d_[%s]", j.ArrayID, j.ArrayTask)
	case j.ArrayTask != "":
		return fmt.Sprintf("%d_%s", j.ArrayID, j.ArrayTask)
	}
	return idText(j.ID)
}

// PrintReservations formats reservations as scontrol show reservation -o does.
func PrintReservations(reservations []slurm.Reservation) string {
	if len(reservations) == 0 {
		return "No reservations in the system\n"
	}
	text := &strings.Builder{}
	for _, r := range reservations {
		fmt.Fprintf(text, "ReservationName=%s StartTime=%s EndTime=%s Duration=365-00:00:00 Nodes=%s NodeCnt=%d CoreCnt=4 "+
			"Features=(null) PartitionName=(null) Flags=%s TRES=cpu=4 Users=%s Groups=(null) Accounts=(null) Licenses=(null) "+
			"State=INACTIVE BurstBuffer=(null) MaxStartDelay=(null)\n",
			r.Name, timeText(r.Start, "Unknown"), timeText(r.End, "Unknown"), slurm.Fold(r.Nodes), len(r.Nodes),
			strings.Join(r.Flags, ","), strings.Join(r.Users, ","))
	}
	return text.String()
}

// PrintJobRecords formats job records as squeue -h with slurm.JobRecordFormat(mark) does.
func PrintJobRecords(records []slurm.JobRecord, mark string) string {
	text := &strings.Builder{}
	for _, r := range records {
		fields := map[string]string{
			"JobID": idText(r.ID), "State": string(r.State),
			"Requeue": strconv.Itoa(b2i(r.Requeue)), "BatchFlag": strconv.Itoa(b2i(r.Batch)), "admin_comment": null(r.AdminComment),
			"Deadline": timeText(r.Deadline, "N/A"), "MinTime": slurm.Limit{Kind: slurm.LimitSet, Duration: r.MinTime}.String(), "comment": null(r.Comment),
		}
		for column := range strings.SplitSeq(slurm.JobRecordFormat(mark), ",") {
			field, suffix, _ := strings.Cut(column, ":")
			text.WriteString(known(fields, field) + suffix)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// known returns a field's value, or the text owners for an unknown field.
func known(fields map[string]string, field string) string {
	if value, ok := fields[field]; ok {
		return value
	}
	return owners
}

func idText(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// null returns a value, or "(null)" where Slurm prints that for an empty value.
func null(value string) string { return cmp.Or(value, "(null)") }

// timeText formats a time as Slurm does under TZ=UTC; none is the word for the zero time.
// Slurm prints years with more than four digits in full.
func timeText(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
