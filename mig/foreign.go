package mig

import (
	"regexp"
	"strconv"
	"strings"
)

var foreignName = regexp.MustCompile(`^(.+?)(?:-job-([0-9]+))?-[0-9a-f]{8}$`)

// ParseForeign parses a group name as slurm-gcp writes it: {cluster}-{nodeset}[-job-{id}]-{8 hex}.
// job is 0 if the name has no job. ok is false for any other name.
//
// Names of different clusters may look alike: alpha-b-a3-0123abcd belongs to cluster alpha only if
// alpha has a nodeset b-a3.
func ParseForeign(cluster, name string) (nodeset string, job uint32, ok bool) {
	rest, ok := strings.CutPrefix(name, cluster+"-")
	m := foreignName.FindStringSubmatch(rest)
	if !ok || m == nil {
		return "", 0, false
	}
	if m[2] == "" {
		return m[1], 0, true
	}
	id, err := strconv.ParseUint(m[2], 10, 32)
	if err != nil {
		return "", 0, false
	}
	return m[1], uint32(id), true
}
