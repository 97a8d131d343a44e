package mig

// ActiveRequestsQuota is the quota metric for a region's live resize requests.
// DefaultActiveRequests is its limit in a project that has not requested a higher one. Source:
// GKE's documentation of queued provisioning.
const (
	ActiveRequestsQuota   = "ACTIVE_RESIZE_REQUESTS"
	DefaultActiveRequests = 100
)

// MachineType holds the resources of a machine type.
type MachineType struct {
	Name   string
	CPUs   int    // vCPUs
	Memory int    // MB
	GPU    string // accelerator type, such as nvidia-h100-80gb; empty: none
	GPUs   int
}

// KnownMachine returns the built-in data of the machine types most used with flex-start, for
// commands that cannot ask Compute. Source: Compute's pages "GPU machine types" (A2, A3, A4, G2)
// and "Compute-optimized machine family" (H4D).
func KnownMachine(name string) (MachineType, bool) {
	const gib = 1024
	for _, m := range []MachineType{
		{"a2-highgpu-1g", 12, 85 * gib, "nvidia-tesla-a100", 1},
		{"a2-highgpu-2g", 24, 170 * gib, "nvidia-tesla-a100", 2},
		{"a2-highgpu-4g", 48, 340 * gib, "nvidia-tesla-a100", 4},
		{"a2-highgpu-8g", 96, 680 * gib, "nvidia-tesla-a100", 8},
		{"a2-megagpu-16g", 96, 1360 * gib, "nvidia-tesla-a100", 16},
		{"a2-ultragpu-1g", 12, 170 * gib, "nvidia-a100-80gb", 1},
		{"a2-ultragpu-2g", 24, 340 * gib, "nvidia-a100-80gb", 2},
		{"a2-ultragpu-4g", 48, 680 * gib, "nvidia-a100-80gb", 4},
		{"a2-ultragpu-8g", 96, 1360 * gib, "nvidia-a100-80gb", 8},
		{"a3-highgpu-1g", 26, 234 * gib, "nvidia-h100-80gb", 1},
		{"a3-highgpu-2g", 52, 468 * gib, "nvidia-h100-80gb", 2},
		{"a3-highgpu-4g", 104, 936 * gib, "nvidia-h100-80gb", 4},
		{"a3-highgpu-8g", 208, 1872 * gib, "nvidia-h100-80gb", 8},
		{"a3-megagpu-8g", 208, 1872 * gib, "nvidia-h100-mega-80gb", 8},
		{"a3-ultragpu-8g", 224, 2952 * gib, "nvidia-h200-141gb", 8},
		{"a4-highgpu-8g", 224, 3968 * gib, "nvidia-b200", 8},
		{"g2-standard-4", 4, 16 * gib, "nvidia-l4", 1},
		{"g2-standard-8", 8, 32 * gib, "nvidia-l4", 1},
		{"g2-standard-12", 12, 48 * gib, "nvidia-l4", 1},
		{"g2-standard-16", 16, 64 * gib, "nvidia-l4", 1},
		{"g2-standard-24", 24, 96 * gib, "nvidia-l4", 2},
		{"g2-standard-32", 32, 128 * gib, "nvidia-l4", 1},
		{"g2-standard-48", 48, 192 * gib, "nvidia-l4", 4},
		{"g2-standard-96", 96, 384 * gib, "nvidia-l4", 8},
		{"h4d-standard-192", 192, 720 * gib, "", 0},
		{"h4d-highmem-192", 192, 1488 * gib, "", 0},
		{"h4d-highmem-192-lssd", 192, 1488 * gib, "", 0},
	} {
		if m.Name == name {
			return m, true
		}
	}
	return MachineType{}, false
}
