package fakegce

import (
	"cmp"
	"regexp"
	"slices"
	"unicode/utf8"

	"google.golang.org/api/compute/v1"
)

// Limits of what users write on their resources. Source: Compute's pages
// "Organize resources using labels" and "About VM metadata".
const (
	maxDescription = 2048      // characters
	maxLabels      = 64        // a resource
	maxMetadata    = 256 << 10 // bytes a value
	allMetadata    = 512 << 10 // bytes of all keys and values
)

var (
	labelKey    = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelValue  = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
	metadataKey = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// checkProperties refuses properties that no VM can be made of; at is their field.
func (s *Server) checkProperties(at string, p *compute.InstanceProperties) error {
	switch {
	case len(p.Disks) == 0:
		return invalid("Invalid value for field '%s.disks': ''. No disks are specified.", at)
	case len(p.NetworkInterfaces) == 0:
		return invalid("Invalid value for field '%s.networkInterfaces': ''. At least one network interface is required.", at)
	}
	if d := schedulingOf(p).MaxRunDuration; d != nil && (d.Nanos < 0 || d.Nanos > 999_999_999 || d.Seconds < 0) {
		return invalid("Invalid value for field '%s.scheduling.maxRunDuration': '%ds %dns'. It is not a duration.", at, d.Seconds, d.Nanos)
	}
	return cmp.Or(checkScheduling(at, p), checkLabels(at, p.Labels), checkMetadata(at, p.Metadata))
}

func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > maxDescription {
		return invalid("Invalid value for field 'resource.description': '%.40s...'. Must be at most %d characters long.", text, maxDescription)
	}
	return nil
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

func checkMetadata(at string, m *compute.Metadata) error {
	if m == nil {
		return nil
	}
	return checkItems(at+".metadata", ".items[].key", ".items[].value", m.Items)
}

// checkAllInstances refuses what no instance of a group can have.
func checkAllInstances(c *compute.InstanceGroupManagerAllInstancesConfig) error {
	if c == nil || c.Properties == nil {
		return nil
	}
	const at = "resource.allInstancesConfig.properties"
	var items []*compute.MetadataItems
	for key, value := range c.Properties.Metadata {
		items = append(items, &compute.MetadataItems{Key: key, Value: &value})
	}
	return cmp.Or(checkLabels(at, c.Properties.Labels), checkItems(at+".metadata", "", "", items))
}

// checkItems holds metadata against the limits; ofKey and ofValue are where the field
// at has its keys and values.
func checkItems(at, ofKey, ofValue string, items []*compute.MetadataItems) error {
	total, seen := 0, make(map[string]bool)
	for _, item := range items {
		size := 0
		if item.Value != nil {
			size = len(*item.Value)
		}
		total += len(item.Key) + size
		switch {
		case !metadataKey.MatchString(item.Key):
			return invalid("Invalid value for field '%s%s': '%.140s'. Must be a match of regex '[a-zA-Z0-9-_]{1,128}'", at, ofKey, item.Key)
		case seen[item.Key]:
			return invalid("Invalid value for field '%s%s': '%s'. The key is given twice.", at, ofKey, item.Key)
		case size > maxMetadata:
			return invalid("Value for field '%s%s' of key '%s' is too large: maximum size %d bytes; actual size %d.", at, ofValue, item.Key, maxMetadata, size)
		}
		seen[item.Key] = true
	}
	if total > allMetadata {
		return invalid("Value for field '%s' is too large: maximum size %d bytes; actual size %d.", at, allMetadata, total)
	}
	return nil
}

// describeProperties fills in the kinds of the parts of a template or a machine.
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
