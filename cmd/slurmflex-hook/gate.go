package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"slurmflex/config"
	"slurmflex/flex"
)

// waitAtGate waits until the daemon opens the gate of the job that slurmctld names in
// the environment. Its error is why it did not wait; the job starts all the same.
func waitAtGate(args []string) error {
	if len(args) != 2 || args[0] != "--config" {
		return errors.New("usage: slurmflex-hook gate --config FILE")
	}
	id, err := strconv.ParseUint(os.Getenv("SLURM_JOB_ID"), 10, 32)
	if err != nil {
		return fmt.Errorf("SLURM_JOB_ID: %w", err)
	}
	het, _ := strconv.ParseUint(os.Getenv("SLURM_HET_JOB_ID"), 10, 32) // 0 if it is not set
	at := config.GlanceAt(args[1])                                     // an invalid configuration leads to the daemon, too
	return flex.WaitAtGate(context.Background(), flex.SocketPath(at.RunDir), flex.WakeUp{
		Cluster: at.Cluster, Verb: flex.GateVerb, Jobs: []uint32{uint32(id)}, Het: uint32(het),
		Nodes: os.Getenv("SLURM_JOB_NODELIST"), // in that of a whole heterogeneous job 22.05 cuts the last node's number off
	})
}
