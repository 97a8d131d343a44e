package slurm

import (
	"errors"
	"fmt"
	"strings"
)

// Partition is one record of scontrol show partition.
type Partition struct {
	Name    string
	Nodes   []string
	MaxTime Limit
	// Up: it takes jobs, and begins them.
	Up bool
	// Exclusive: a job has its nodes to itself.
	Exclusive bool
	// PowerDownOnIdle: Slurm powers a node down as soon as its job ends; from
	// 23.02.
	PowerDownOnIdle bool
	// ResumeTimeout is LimitUnknown where the cluster's counts.
	ResumeTimeout Limit
}

// ParsePartitions reads what scontrol show partition -o printed. A line that
// is no partition record is an error.
func ParsePartitions(out []byte) ([]Partition, error) {
	var partitions []Partition
	err := eachRecord("scontrol show partition", out, "No partitions in the system", func(line string) error {
		name := wordAfter(line, "PartitionName")
		if name == "" || !strings.HasPrefix(line, "PartitionName=") {
			return errors.New("not a partition record")
		}
		if countKey(line, "Nodes") == 0 {
			return fmt.Errorf("partition %s has no Nodes=", name)
		}
		nodes, err := Expand(wordAfter(line, "Nodes"))
		if err != nil {
			return fmt.Errorf("partition %s: %w", name, err)
		}
		partitions = append(partitions, Partition{
			Name:            name,
			Nodes:           nodes,
			MaxTime:         ParseLimit(wordAfter(line, "MaxTime")),
			Up:              wordAfter(line, "State") == "UP",
			Exclusive:       isExclusive(line),
			PowerDownOnIdle: wordAfter(line, "PowerDownOnIdle") == "YES",
			ResumeTimeout:   parseSeconds(wordAfter(line, "ResumeTimeout")),
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return partitions, nil
}

// isExclusive: before 26.05 as OverSubscribe=EXCLUSIVE, since as
// Exclusive=NODE.
func isExclusive(line string) bool {
	return wordAfter(line, "OverSubscribe") == "EXCLUSIVE" || wordAfter(line, "Exclusive") == "NODE"
}
