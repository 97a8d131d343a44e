package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slurmflex/mig/gce"
	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// story follows one job on its cluster.
type story struct {
	lab       *lab.Lab
	partition string
	region    string
	client    *gce.Client                                   // of the API that serves the region
	supply    func(ctx context.Context, machines int) error // sets how many machines may be created
}

// follow submits the job, prints each state that Slurm shows, waits until nothing is left, and prints what
// slurmflex has done.
func (s *story) follow(ctx context.Context) {
	const nodes = 2
	must.Do(s.supply(ctx, 0))
	fmt.Printf("\n$ sbatch -p %s -N%d --time=15 --wrap 'srun hostname'    (no capacity for the first 5 s)\n", s.partition, nodes)
	job := strings.TrimSpace(must.Get(s.lab.Slurm(ctx, "sbatch", "--parsable", "-o", filepath.Join(s.lab.Dir, "job.out"), "-p", s.partition,
		fmt.Sprintf("-N%d", nodes), "--time=15", "--wrap", "srun hostname")))
	begun, shown, supplied := time.Now(), "", false
	must.Do(lab.Until(ctx, limit, "the job to complete", func() (bool, error) {
		if !supplied && time.Since(begun) > 5*time.Second {
			supplied = true
			must.Do(s.supply(ctx, nodes))
		}
		row, err := s.lab.Slurm(ctx, "squeue", "-h", "-t", "all", "-j", job, "-o", "job %i %T %R")
		if row != shown {
			shown = row
			fmt.Printf("%6.1f s  %s", time.Since(begun).Seconds(), row)
		}
		return strings.Contains(row, " COMPLETED "), err
	}))
	must.Do(lab.Until(ctx, limit, "all machines and groups to be deleted, and nodes to be powered down", func() (bool, error) {
		groups, unseen := s.client.Groups(ctx, "alpha", []string{s.region})
		instances, unlisted := s.client.Instances(ctx, "alpha", []string{s.region})
		states, err := s.lab.Slurm(ctx, "sinfo", "-h", "-p", s.partition, "-o", "%T")
		up := slices.ContainsFunc(strings.Fields(states), func(state string) bool { return !strings.HasSuffix(state, "~") })
		return len(groups)+len(instances) == 0 && !up, errors.Join(err, unseen[s.region], unlisted[s.region])
	}))
	_, told, _ := strings.Cut(must.Get(s.lab.Flex(ctx, "why", "--story", job)), "Story:\n")
	fmt.Printf("%6.1f s  nodes powered down\n\nfrom slurmflex why --story %s:\n%s", time.Since(begun).Seconds(), job, told)
	fmt.Printf("demo: job COMPLETED on %d flex nodes; left behind: 0 instances, 0 groups\n", nodes)
}
