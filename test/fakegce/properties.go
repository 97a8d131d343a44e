package fakegce

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"google.golang.org/api/compute/v1"
)

// maxLabels is the maximum number of a resource's labels. Source: Compute's page "Organize resources
// using labels".
const maxLabels = 64

// Limits of a VM's run time. Source: Compute's page "Limit the run time of a VM".
const (
	minRun = 30 * time.Second
	maxRun = 120 * 24 * time.Hour
)

var (
	labelKey   = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
)

// checkProperties refuses properties that no VM can have; at is their field in the body.
func (s *Server) checkProperties(at string, p *compute.InstanceProperties) error {
	switch {
	case len(p.Disks) == 0:
		return invalid("Invalid value for field '%s.disks': ''. No disks are specified.", at)
	case len(p.NetworkInterfaces) == 0:
		return invalid("Invalid value for field '%s.networkInterfaces': ''. At least one network interface is required.", at)
	}
	if d := schedulingOf(p).MaxRunDuration; d != nil && (d.Nanos < 0 || d.Nanos > 999_999_999 || seconds(d) < minRun || seconds(d) > maxRun) {
		return invalid("Invalid value for field '%s.scheduling.maxRunDuration': '%ds %dns'. Must be between 30 seconds and 120 days.", at, d.Seconds, d.Nanos)
	}
	return cmp.Or(checkScheduling(at, p), checkLabels(at, p.Labels))
}

func checkLabels(at string, labels map[string]string) error {
	if len(labels) > maxLabels {
		return invalid("Invalid value for field '%s.labels'. It has %d labels, and may have %d.", at, len(labels), maxLabels)
	}
	for key, value := range labels {
		if !labelKey.MatchString(key) {
			return invalid("Invalid value for field '%s.labels': '%s'. A label's key has 1 to 63 lowercase letters, digits, hyphens and underscores, and begins with a letter.", at, key)
		}
		if !labelValue.MatchString(value) {
			return invalid("Invalid value for field '%s.labels': '%s'. A label's value has at most 63 lowercase letters, digits, hyphens and underscores.", at, value)
		}
	}
	return nil
}

// describeProperties fills in the kind fields in a template's or a machine's properties.
func describeProperties(p *compute.InstanceProperties) {
	if p.Metadata != nil {
		p.Metadata.Kind = "compute#metadata"
	}
	for i, d := range p.Disks {
		d.Kind, d.Index, d.ForceSendFields = "compute#attachedDisk", int64(i), []string{"Index"}
	}
	for _, n := range p.NetworkInterfaces {
		n.Kind = "compute#networkInterface"
		for _, a := range slices.Concat(n.AccessConfigs, n.Ipv6AccessConfigs) {
			a.Kind = "compute#accessConfig"
		}
	}
}
