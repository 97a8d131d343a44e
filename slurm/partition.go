package slurm

import (
	"errors"
	"maps"
	"strconv"
	"strings"
)

// Partition is one record of scontrol show partition.
type Partition struct {
	Name    string
	Nodes   []string
	MaxTime Limit
	// DefaultTime is the time limit of a job that sets none. It is LimitUnknown if MaxTime applies.
	DefaultTime Limit
	// Up is true if the partition accepts and starts jobs.
	Up bool
	// Begins is true if the partition starts jobs, even if it accepts no new ones (DRAIN). It is
	// also true for an unknown state.
	Begins bool
	// Exclusive is true if each job gets whole nodes.
	Exclusive bool
	// PowerDownOnIdle is true if Slurm powers down a node as soon as its job ends. It exists since
	// 23.02.
	PowerDownOnIdle bool
	// MinNodes and MaxNodes are the fewest and the most nodes of a job; 0 means no limit.
	MinNodes, MaxNodes int
	// Restricts is a setting that limits the partition to some jobs, such as AllowGroups, and that
	// cannot be checked from a job's row; "" for none.
	Restricts string
	// QOS is the quality of service that limits the partition's jobs; "" for none.
	QOS string
	// Tier is the PriorityTier: Slurm starts jobs of a higher one first.
	Tier int
	// PerNode is the number of CPUs ("cpu"), devices ("gres/gpu") and "billing" units of each node, as far
	// as Slurm counts them. It omits resources that differ between the nodes, and billing units if they
	// depend on a job's memory.
	PerNode map[string]int64
	// ResumeTimeout and SuspendTime are LimitUnknown if the cluster's values apply.
	ResumeTimeout, SuspendTime Limit
}

// ParsePartitions parses the output of scontrol show partition -o. Unreadable rows are returned as
// the error Unread, together with the partitions. Output without a partition record is another
// error.
func ParsePartitions(out []byte) ([]Partition, error) {
	return readShown("scontrol show partition", out, "No partitions in the system", "PartitionName", parsePartition)
}

func parsePartition(line string) (partition Partition, known UnreadRow, err error) {
	known = UnreadRow{Kind: PartitionRow}
	name := wordAfter(line, "PartitionName")
	if name == "" || !strings.HasPrefix(line, "PartitionName=") {
		return Partition{}, known, errors.New("not a partition record")
	}
	known.Name = name
	if countKey(line, "Nodes") == 0 {
		return Partition{}, known, errors.New("without Nodes=")
	}
	nodes, err := Expand(wordAfter(line, "Nodes"))
	if err != nil {
		return Partition{}, known, err
	}
	state := wordAfter(line, "State")
	return Partition{
		Name:            name,
		Nodes:           nodes,
		MaxTime:         ParseLimit(wordAfter(line, "MaxTime")),
		DefaultTime:     ParseLimit(wordAfter(line, "DefaultTime")),
		Up:              state == "UP",
		Begins:          state != "DOWN" && state != "INACTIVE",
		Exclusive:       isExclusive(line),
		PowerDownOnIdle: wordAfter(line, "PowerDownOnIdle") == "YES",
		MinNodes:        numberOr0(wordAfter(line, "MinNodes")),
		MaxNodes:        maxNodes(wordAfter(line, "MaxNodes")),
		Restricts:       restriction(line),
		QOS:             strings.TrimPrefix(wordAfter(line, "QoS"), "N/A"),
		Tier:            numberOr0(wordAfter(line, "PriorityTier")),
		PerNode:         perNode(wordAfter(line, "TRES"), wordAfter(line, "TRESBillingWeights")),
		ResumeTimeout:   ParseSeconds(wordAfter(line, "ResumeTimeout")),
		SuspendTime:     ParseSeconds(wordAfter(line, "SuspendTime")),
	}, known, nil
}

// isExclusive recognizes OverSubscribe=EXCLUSIVE, and Exclusive=NODE, its form since 26.05.
func isExclusive(line string) bool {
	return wordAfter(line, "OverSubscribe") == "EXCLUSIVE" || wordAfter(line, "Exclusive") == "NODE"
}

// perNode divides a partition's resources by its number of nodes.
func perNode(tres, weights string) map[string]int64 {
	total := map[string]int64{}
	for item := range strings.SplitSeq(tres, ",") {
		name, text, _ := strings.Cut(item, "=")
		total[name], _ = strconv.ParseInt(text, 10, 64) // 0 if it fails; zero totals are left out
	}
	nodes := max(total["node"], 1)
	if strings.Contains(strings.ToLower(weights), "mem") {
		delete(total, "billing")
	}
	maps.DeleteFunc(total, func(name string, amount int64) bool {
		return name != "cpu" && name != "billing" && !strings.HasPrefix(name, "gres/") || amount <= 0 || amount%nodes != 0
	})
	for name := range total {
		total[name] /= nodes
	}
	if len(total) == 0 {
		return nil
	}
	return total
}

// maxNodes parses MaxNodes; 0 means UNLIMITED. A malformed number becomes a limit that allows no
// job with nodes.
func maxNodes(word string) int {
	if word == "UNLIMITED" {
		return 0
	}
	return max(numberOr0(word), 1)
}

// openTo are the settings of a partition that accepts all jobs. A partition with DenyAccounts or
// DenyQos shows that key in place of AllowAccounts or AllowQos.
var openTo = []struct{ key, value string }{
	{"AllowGroups", "ALL"},
	{"AllowAccounts", "ALL"},
	{"AllowQos", "ALL"},
	{"AllocNodes", "ALL"},
	{"QoS", "N/A"},
	{"RootOnly", "NO"},
	{"ReqResv", "NO"},
	{"MaxMemPerNode", "UNLIMITED"},
}

// restriction returns the first setting that differs from openTo.
func restriction(line string) string {
	for _, s := range openTo {
		if value := wordAfter(line, s.key); value != s.value || countKey(line, s.key) != 1 {
			return s.key
		}
	}
	return ""
}
