package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/lab"
)

// story prints each event of the job's life once, with the seconds since the start.
type story struct {
	lab       *lab.Lab
	partition string
	region    string
	access    gce.Options // to the API that serves the region
	client    *gce.Client
	supply    func(ctx context.Context, machines int) error // sets how many machines may be created
	job       string
	nodes     int
	begun     time.Time
	told      map[string]bool

	state     string   // of the job
	used      []string // the job's nodes
	groups    []mig.Group
	instances []mig.Instance
	requests  int
	supplied  bool
	ended     bool
}

func (s *story) tell(event string) {
	if !s.told[event] {
		s.told[event] = true
		fmt.Printf("%6.1f s  %s\n", time.Since(s.begun).Seconds(), event)
	}
}

// look reads Slurm and the cloud and prints new events.
func (s *story) look(ctx context.Context) (err error) {
	if s.state, s.used, err = jobRow(ctx, s.lab, s.job); err != nil {
		return err
	}
	var unseen, unlisted map[string]error
	s.groups, unseen = s.client.Groups(ctx, "alpha", []string{s.region})
	s.instances, unlisted = s.client.Instances(ctx, "alpha", []string{s.region})
	if err := errors.Join(unseen[s.region], unlisted[s.region]); err != nil {
		return err
	}
	nodes, err := s.flexNodes(ctx)
	if err != nil {
		return err
	}
	s.tell("job " + s.job + " pending")
	if err := s.lookAtCloud(ctx); err != nil {
		return err
	}
	down := s.lookAtNodes(nodes)
	switch s.state {
	case "RUNNING":
		s.tell("job running")
	case "COMPLETED":
		s.tell("job running") // the job may end between two looks
		s.tell("job done")
	}
	if s.told["job done"] && len(s.instances) == 0 {
		s.tell("nodes deleted")
		if len(s.groups) == 0 {
			s.tell("group deleted")
			s.ended = down
		}
	}
	return nil
}

func (s *story) lookAtCloud(ctx context.Context) error {
	s.requests = 0
	for _, g := range s.groups {
		s.tell("group " + g.Name + " created")
		for _, r := range g.Requests {
			s.requests++
			if r.State == mig.Accepted || r.State == mig.Succeeded {
				s.tell(fmt.Sprintf("request %s/%s accepted: %d nodes for %s", g.Name, r.Name, len(r.Instances), r.Duration))
			}
		}
	}
	if !s.supplied && time.Since(s.begun) > 5*time.Second && s.requests > 0 {
		s.supplied = true
		if err := s.supply(ctx, s.nodes); err != nil {
			return err
		}
	}
	if len(s.instances) >= s.nodes {
		s.tell(fmt.Sprintf("capacity granted: %d instances in %s", len(s.instances), s.instances[0].Zone))
	}
	return nil
}

// lookAtNodes prints which nodes are up and reports whether all are powered down.
func (s *story) lookAtNodes(nodes []slurm.Node) bool {
	down := true
	for _, n := range nodes {
		off := n.State.Has(slurm.PoweredDown)
		down = down && off
		if slices.Contains(s.used, n.Name) && !off && !n.State.Has(slurm.PoweringUp) && !n.State.Has(slurm.PoweringDown) {
			s.tell("node " + n.Name + " up")
		}
	}
	return down
}

func (s *story) flexNodes(ctx context.Context) ([]slurm.Node, error) {
	out, err := s.lab.Slurm(ctx, "scontrol", "show", "nodes", "-o")
	if err != nil {
		return nil, err
	}
	nodes, err := slurm.ParseNodes([]byte(out))
	return slices.DeleteFunc(nodes, func(n slurm.Node) bool { return !slices.Contains(n.Partitions, s.partition) }), err
}

// summary returns the closing line.
func (s *story) summary() string {
	return fmt.Sprintf("demo: job %s on %d flex nodes; left behind: %d instances, %d groups, %d requests",
		s.state, len(s.used), len(s.instances), len(s.groups), s.requests)
}
