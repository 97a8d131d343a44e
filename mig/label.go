package mig

import "strconv"

// The labels that hold the stamp of an instance without a group.
const (
	labelVersion = "slurmflex-version"
	labelCluster = "slurmflex-cluster"
	labelNodeSet = "slurmflex-nodeset"
	labelJob     = "slurmflex-job"
	labelNode    = "slurmflex-node"
)

// Labels returns the stamp as instance labels. The parts of a stamp are also parts of instance
// names, so they are valid label values.
func (s Stamp) Labels() map[string]string {
	labels := map[string]string{labelVersion: strconv.Itoa(s.Version), labelCluster: s.Cluster, labelNodeSet: s.NodeSet}
	if s.Job != 0 {
		labels[labelJob] = strconv.FormatUint(uint64(s.Job), 10)
	}
	if s.Node != "" {
		labels[labelNode] = s.Node
	}
	return labels
}

// StampOfLabels parses the stamp from an instance's labels. It returns false unless the labels hold
// a cluster and a nodeset and a stamp version that this program knows: such an instance is not
// ours. The earliest instances have no version label and are accepted.
func StampOfLabels(labels map[string]string) (Stamp, bool) {
	s := Stamp{Version: 1, Cluster: labels[labelCluster], NodeSet: labels[labelNodeSet], Node: labels[labelNode]}
	if version, ok := labels[labelVersion]; ok {
		n, err := strconv.Atoi(version)
		if err != nil {
			return Stamp{}, false
		}
		s.Version = n
	}
	if !s.known() {
		return Stamp{}, false
	}
	if job, ok := labels[labelJob]; ok {
		n, err := strconv.ParseUint(job, 10, 32)
		if err != nil {
			return Stamp{}, false
		}
		s.Job = uint32(n)
	}
	return s, true
}
