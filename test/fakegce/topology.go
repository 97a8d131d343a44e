package fakegce

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// topology returns the location of a running VM's host, or nil if Compute does not show it.
// Compute shows it for the machine types below, and for VMs of a group with a workload policy.
// VMs with adjacent names are on hosts in different blocks. Source: Compute's page "View
// compute instance topology".
func (s *Server) topology(v *vm) *compute.ResourceStatusPhysicalHostTopology {
	shown := slices.ContainsFunc([]string{"a3-highgpu-8g", "a3-megagpu-", "a3-ultragpu-", "a4-", "a4x-", "h4d-"}, func(prefix string) bool {
		return strings.HasPrefix(v.machineType(), prefix)
	})
	if !shown && (v.member == nil || v.member.group.api.ResourcePolicies == nil) {
		return nil
	}
	h := fnv.New32a()
	fmt.Fprint(h, v.id)
	n := h.Sum32()
	return &compute.ResourceStatusPhysicalHostTopology{
		Cluster: v.at.zone + "-cluster-1", Block: fmt.Sprintf("%032x", n%2), Subblock: fmt.Sprintf("%032x", n%4), Host: fmt.Sprintf("%032x", v.id),
	}
}

// host returns the physical host of a running VM as block/sub-block/host: that of an earlier VM of the
// same name after GiveHostAgain, otherwise a host of its own. Source: discovery document,
// ResourceStatus.physicalHost.
func (s *Server) host(v *vm) string {
	if again := s.again[v.name]; again != "" {
		return again
	}
	return fmt.Sprintf("%d/%d/%032x", v.id%2, v.id%4, v.id)
}

// GiveHostAgain lets later VMs of the VM's name run on its host.
func (s *Server) GiveHostAgain(name string) error {
	return s.toVM("give again the host of", name, func(v *vm) {
		if s.again == nil {
			s.again = map[string]string{}
		}
		s.again[name] = s.host(v)
	})
}
