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
	// DefaultTime is the time limit of a job that has none of its own: LimitUnknown if MaxTime is.
	DefaultTime Limit
	// Up: it takes jobs, and begins them.
	Up bool
	// Begins: it begins jobs, though perhaps it takes no new ones (DRAIN). In a state
	// that we do not know it may.
	Begins bool
	// Exclusive: a job has its nodes to itself.
	Exclusive bool
	// PowerDownOnIdle: Slurm powers a node down as soon as its job ends; from
	// 23.02.
	PowerDownOnIdle bool
	// MinNodes and MaxNodes are the fewest and the most nodes of a job; 0 for no limit.
	MinNodes, MaxNodes int
	// Tier is its PriorityTier: of the partitions that a job names, Slurm tries those of the
	// higher first.
	Tier int
	// Restricts is the setting by which it takes some jobs only, such as AllowGroups,
	// that cannot be told of a job by its row; "" for none.
	Restricts string
	// QOS is the quality of service that limits the partition's jobs; "" for none.
	QOS string
	// PerNode is how many CPUs ("cpu") and devices ("gres/gpu") each node has, as far as Slurm counts
	// them. It lacks what not all nodes have alike.
	PerNode map[string]int64
	// ResumeTimeout and SuspendTime are LimitUnknown where the cluster's count.
	ResumeTimeout, SuspendTime Limit
}

// ParsePartitions reads what scontrol show partition -o printed. Rows that
// cannot be read are Unread, an error that comes with the partitions. Output
// without a partition record is another error.
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
		return Partition{}, known, errors.New("it has no Nodes=")
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
		Tier:            numberOr0(wordAfter(line, "PriorityTier")),
		Restricts:       restriction(line),
		QOS:             strings.TrimPrefix(wordAfter(line, "QoS"), "N/A"),
		PerNode:         perNode(wordAfter(line, "TRES")),
		ResumeTimeout:   parseSeconds(wordAfter(line, "ResumeTimeout")),
		SuspendTime:     parseSeconds(wordAfter(line, "SuspendTime")),
	}, known, nil
}

// isExclusive: before 26.05 as OverSubscribe=EXCLUSIVE, since as
// Exclusive=NODE.
func isExclusive(line string) bool {
	return wordAfter(line, "OverSubscribe") == "EXCLUSIVE" || wordAfter(line, "Exclusive") == "NODE"
}

// perNode divides what a partition has among its nodes.
func perNode(tres string) map[string]int64 {
	total := map[string]int64{}
	for item := range strings.SplitSeq(tres, ",") {
		name, text, _ := strings.Cut(item, "=")
		total[name], _ = strconv.ParseInt(text, 10, 64) // 0 if it fails: it is left out
	}
	nodes := max(total["node"], 1)
	maps.DeleteFunc(total, func(name string, amount int64) bool {
		return name != "cpu" && !strings.HasPrefix(name, "gres/") || amount <= 0 || amount%nodes != 0
	})
	for name := range total {
		total[name] /= nodes
	}
	if len(total) == 0 {
		return nil
	}
	return total
}

// maxNodes is 0 for UNLIMITED. What is no number allows no job that has nodes.
func maxNodes(word string) int {
	if word == "UNLIMITED" {
		return 0
	}
	return max(numberOr0(word), 1)
}

// openTo are the settings of a partition that takes everybody's jobs. One with
// DenyAccounts or DenyQos shows it in the place of AllowAccounts or AllowQos.
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

// restriction is the first setting that is not as in openTo.
func restriction(line string) string {
	for _, s := range openTo {
		if value := wordAfter(line, s.key); value != s.value || countKey(line, s.key) != 1 {
			return s.key
		}
	}
	return ""
}
