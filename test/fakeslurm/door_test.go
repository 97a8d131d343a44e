package fakeslurm

import (
	"testing"
	"time"
)

// behindCover returns a world with nodes a0 to a3 closed.
func behindCover(t *testing.T, version string, change ...func(*Options)) *world {
	w := newWorld(t, version, change...)
	w.cover("C", "a[0-3]")
	return w
}

// gang returns a one-hour job on this many nodes.
func gang(nodes int) JobSpec {
	return JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 10 * time.Minute}
}
