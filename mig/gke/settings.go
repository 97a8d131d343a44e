package gke

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Settings is the gateway's configuration file.
type Settings struct {
	Region    string          `json:"region"`    // the name that slurmflex has for the cluster, such as gke-us-central1
	Zones     []string        `json:"zones"`     // the letters of the node pools' zones, such as a
	Namespace string          `json:"namespace"` // where all objects are
	Pools     map[string]Pool `json:"pools"`     // by the name of the node pool, which is the name of its instance template
}

// Pool is a node pool with flex-start and queued provisioning.
type Pool struct {
	Machine Machine `json:"machine"`
	// Queue is the LocalQueue of Kueue for requests; empty: the gateway makes the
	// ProvisioningRequests itself.
	Queue string `json:"queue"`
	// PodTemplate is a file with a pod template, relative to the configuration file; empty: the
	// default one.
	PodTemplate string `json:"pod_template"`

	pod   corev1.PodTemplateSpec
	wrong error // why the pod template is unusable
}

// Machine is the machine type of a pool.
type Machine struct {
	Type     string `json:"type"` // such as a3-highgpu-8g
	CPUs     int    `json:"cpus"`
	MemoryMB int    `json:"memory_mb"`
	GPU      string `json:"gpu"` // such as nvidia-h100-80gb; empty: none
	GPUs     int64  `json:"gpus"`
}

// DefaultTemplate is the pod template of pools without a file.
//
//go:embed pod.yaml
var DefaultTemplate string

// gpuResource is the name of GPUs in a container's resources.
const gpuResource = "nvidia.com/gpu"

var (
	regionName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	zoneLetter = regexp.MustCompile(`^[a-z0-9]+$`)
)

// Load reads and checks a configuration file. An unusable pod template is not an error: the answer
// about the pool's instance template reports it.
func Load(path string) (*Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	s := &Settings{Namespace: "slurm"}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		return nil, fmt.Errorf("%s: %s", path, oneLine(err.Error()))
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, p := range s.Pools {
		text, file := DefaultTemplate, "the default pod template"
		if p.PodTemplate != "" {
			file = p.PodTemplate
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(path), file)
			}
			read, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: pools.%s.pod_template: %w", path, name, err)
			}
			text = string(read)
		}
		if p.wrong = p.parse(text); p.wrong != nil {
			p.wrong = fmt.Errorf("pod template of pool %s, %s: %w", name, file, p.wrong)
		}
		s.Pools[name] = p
	}
	return s, nil
}

func (s *Settings) check() error {
	switch {
	case !regionName.MatchString(s.Region):
		return fmt.Errorf("region: %q is not the name of a region; use the one in slurmflex's regions, such as gke-us-central1", s.Region)
	case len(s.Zones) == 0:
		return errors.New("zones: missing; set it to the letters of the pools' zones, such as [a]")
	case len(s.Pools) == 0:
		return errors.New("pools: missing; name a node pool with flex-start and queued provisioning")
	}
	for _, z := range s.Zones {
		if !zoneLetter.MatchString(z) {
			return fmt.Errorf("zones: %q is not the last part of a zone's name; for us-central1-a, set a", z)
		}
	}
	for name, p := range s.Pools {
		if p.Machine.Type == "" || p.Machine.CPUs < 1 || p.Machine.MemoryMB < 1 || (p.Machine.GPU == "") != (p.Machine.GPUs == 0) {
			return fmt.Errorf("pools.%s.machine: set type, cpus, memory_mb and, if it has GPUs, gpu and gpus", name)
		}
	}
	return nil
}

// parse reads a pod template, and checks that a pod takes a whole machine.
func (p *Pool) parse(text string) error {
	if err := yaml.UnmarshalStrict([]byte(text), &p.pod); err != nil {
		return errors.New(oneLine(err.Error()))
	}
	var gpus int64
	for _, c := range p.pod.Spec.Containers {
		if c.Image == "" {
			return fmt.Errorf("container %s has no image; set an image with slurmd", c.Name)
		}
		limit := c.Resources.Limits[gpuResource]
		gpus += limit.Value()
	}
	switch {
	case len(p.pod.Spec.Containers) == 0:
		return errors.New("no container; see slurmflex-gke template")
	case gpus != p.Machine.GPUs:
		return fmt.Errorf("the containers ask for %d GPUs, and a %s has %d; set limits: {%s: %[3]d}, because a machine has one pod", gpus, p.Machine.Type, p.Machine.GPUs, gpuResource)
	}
	return nil
}

// oneLine collapses white space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
