package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
)

// The functions below print what Slurm's commands would, in the form of 24.11
// and as far as package slurm reads it.

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
