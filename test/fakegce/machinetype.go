package fakegce

import (
	"maps"
	"slices"

	"google.golang.org/api/compute/v1"
)

// machine describes a machine type. Every zone offers it unless it is withdrawn there.
type machine struct {
	name   string
	cpus   int64
	memory int64 // MB
	gpu    string
	gpus   int64
}

// machines returns the machine types that the fake knows, by name. Source: the
// "Accelerator-optimized machine family" and "General-purpose machine family" pages of
// Compute's documentation.
func machines() map[string]machine {
	const gib = 1024
	all := make(map[string]machine)
	for _, m := range []machine{
		{"a2-highgpu-1g", 12, 85 * gib, "nvidia-tesla-a100", 1},
		{"a2-highgpu-8g", 96, 680 * gib, "nvidia-tesla-a100", 8},
		{"a3-highgpu-8g", 208, 1872 * gib, "nvidia-h100-80gb", 8},
		{"a3-megagpu-8g", 208, 1872 * gib, "nvidia-h100-mega-80gb", 8},
		{"a3-ultragpu-8g", 224, 2952 * gib, "nvidia-h200-141gb", 8},
		{"a4-highgpu-8g", 224, 3968 * gib, "nvidia-b200", 8},
		{"a4x-highgpu-4g", 140, 884 * gib, "nvidia-gb200", 4},
		{"g2-standard-4", 4, 16 * gib, "nvidia-l4", 1},
		{"g2-standard-48", 48, 192 * gib, "nvidia-l4", 4},
		{"h4d-standard-192", 192, 720 * gib, "", 0},
		{"n1-standard-8", 8, 30 * gib, "", 0},
		{"n2-standard-2", 2, 8 * gib, "", 0},
		{"e2-standard-4", 4, 16 * gib, "", 0},
	} {
		all[m.name] = m
	}
	return all
}

// preemptible is the prefix of the metrics for GPUs that Compute may take back or grants for a
// limited time.
const preemptible = "PREEMPTIBLE_"

// gpuMetrics returns the quota metric of each GPU type for on-demand machines.
func gpuMetrics() map[string]string {
	return map[string]string{
		"nvidia-tesla-t4": "NVIDIA_T4_GPUS", "nvidia-tesla-v100": "NVIDIA_V100_GPUS",
		"nvidia-tesla-a100": "NVIDIA_A100_GPUS", "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
		"nvidia-l4": "NVIDIA_L4_GPUS", "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
		"nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS", "nvidia-h200-141gb": "NVIDIA_H200_GPUS",
		"nvidia-b200": "NVIDIA_B200_GPUS", "nvidia-gb200": "NVIDIA_GB200_GPUS",
	}
}

// gpuQuota returns the quota metric for GPUs of a provisioning model in a region; standard is
// the on-demand metric. Spot and flex-start have a separate quota. A project without that
// quota uses the standard one. Source: Compute's page "Allocation quotas".
func (s *Server) gpuQuota(region, standard, model string) string {
	metric := preemptible + standard
	none := s.limit(quota{region, metric}) == 0 && s.limit(quota{region, standard}) != 0
	if none || model == "STANDARD" {
		return standard
	}
	return metric
}

// listedQuotas returns the metrics that regions.get shows. The list is incomplete: among the
// standard GPUs, the discovery document lacks the H100 and all later types.
func listedQuotas() []string {
	return []string{
		"INSTANCES", "INSTANCE_GROUPS", "INSTANCE_GROUP_MANAGERS",
		"NVIDIA_A100_80GB_GPUS", "NVIDIA_A100_GPUS", "NVIDIA_L4_GPUS",
		"PREEMPTIBLE_NVIDIA_A100_80GB_GPUS", "PREEMPTIBLE_NVIDIA_A100_GPUS", "PREEMPTIBLE_NVIDIA_H100_GPUS", "PREEMPTIBLE_NVIDIA_L4_GPUS",
		"REGIONAL_INSTANCE_GROUP_MANAGERS",
	}
}

// needs returns how much of its region's quotas one VM with these properties uses. The GPUs of
// a reservation count as long as the reservation exists, whether or not VMs consume it.
func (s *Server) needs(region string, props *compute.InstanceProperties) map[string]float64 {
	needs := map[string]float64{"INSTANCES": 1}
	if namesReservation(props) {
		return needs
	}
	for kind, n := range s.gpus(props) {
		if standard, ok := gpuMetrics()[kind]; ok {
			needs[s.gpuQuota(region, standard, modelOf(props))] += n
		}
	}
	return needs
}

// gpus returns the number of GPUs by type of one VM with these properties.
func (s *Server) gpus(props *compute.InstanceProperties) map[string]float64 {
	if m := s.machine[props.MachineType]; m.gpu != "" {
		return map[string]float64{m.gpu: float64(m.gpus)}
	}
	gpus := make(map[string]float64)
	for _, a := range props.GuestAccelerators {
		gpus[lastPart(a.AcceleratorType)] += float64(a.AcceleratorCount)
	}
	return gpus
}

func (s *Server) getMachineType(c *call) (any, error) {
	path := s.path(c.at, "machineTypes", c.name())
	m, ok := s.machine[c.name()]
	if !ok || s.withdrawn[spot{c.at.zone, m.name}] {
		return nil, notFound(path)
	}
	api := &compute.MachineType{
		Kind: "compute#machineType", Name: m.name, Zone: c.at.zone, SelfLink: apiRoot + path,
		Id:        3000 + uint64(slices.Index(slices.Sorted(maps.Keys(s.machine)), m.name)),
		GuestCpus: m.cpus, MemoryMb: m.memory, Architecture: "X86_64",
		MaximumPersistentDisks: 128, MaximumPersistentDisksSizeGb: 263168,
		CreationTimestamp: "1969-12-31T16:00:00.000-08:00",
	}
	if m.gpu != "" {
		api.Accelerators = []*compute.MachineTypeAccelerators{{GuestAcceleratorType: m.gpu, GuestAcceleratorCount: m.gpus}}
	}
	return api, nil
}
