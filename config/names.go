package config

import (
	"regexp"
	"strings"
)

const (
	// maxName is the longest name of a Compute resource. Source: Compute's naming convention, RFC
	// 1035 labels.
	maxName = 63
	// longestJob is the longest suffix of a nodeset's name in a group name: the job's number, which
	// Slurm stores in 32 bits, the part and the attempt.
	longestJob = "-job-4294967295-p99-r99"
)

var (
	computeName     = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	nodeSetName     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	projectID       = regexp.MustCompile(`^[a-z0-9][-a-z0-9.:]*[a-z0-9]$`)
	zoneName        = regexp.MustCompile(`^([a-z0-9-]+)-[a-z0-9]+$`)
	reservationName = regexp.MustCompile(`^(?:projects/[^/]+/reservations/)?[a-z]([-a-z0-9]*[a-z0-9])?$`)
	templateLink    = regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/[^/]+/)?(?:global|regions/([^/]+))/instanceTemplates/[^/]+$`)
	subnetLink      = regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/[^/]+/)?regions/([^/]+)/subnetworks/[^/]+$`)
)

// clusterName reads the cluster's name, the first part of every name that slurmflex creates.
func (s *section) clusterName(key string) string {
	const longest = maxName - len("-n") - len(longestJob)
	name := s.text(key, "")
	switch {
	case name == "":
		s.problem(key, "missing; set it to the first part of the node names")
	case len(name) > longest:
		s.problem(key, "%s has %d characters; must have at most %d, because an instance group's name has at most %d",
			quote(name), len(name), longest, maxName)
	case !computeName.MatchString(name):
		s.problem(key, "%s is not a Compute name; must be a letter followed by letters, digits and inner dashes, all lower case", quote(name))
	}
	return name
}

// project reads the project's id.
func (s *section) project(key string) string {
	id := s.text(key, "")
	switch {
	case id == "":
		s.problem(key, "missing; set it to the id of the nodes' project")
	case !projectID.MatchString(id):
		s.problem(key, "%s is not a project id; use the id shown in the console, such as my-project-123", quote(id))
	}
	return id
}

// ownName reads the name inside a nodeset or partition. It must equal the key. It may be left out.
func (s *section) ownName(key string) string {
	name := s.text(key, s.name)
	if name != s.name {
		s.problem(key, "%s differs from its key %s; write the same name in both", quote(name), quote(s.name))
	}
	return name
}

// absolute reads the absolute path of a file or folder.
func (s *section) absolute(key, unset string) string {
	path := s.text(key, unset)
	if path != unset && !strings.HasPrefix(path, "/") {
		s.problem(key, "%s is not an absolute path; start it with /", quote(path))
	}
	return path
}
