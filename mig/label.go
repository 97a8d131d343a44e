package mig

import "strconv"

// The labels that hold the stamp of an instance that no group made.
const (
	labelVersion = "slurmflex-version"
	labelCluster = "slurmflex-cluster"
	labelNodeSet = "slurmflex-nodeset"
	labelJob     = "slurmflex-job"
	labelNode    = "slurmflex-node"
)

// Labels is the stamp as labels of an instance. Its names are parts of names
// of instances, so they are fit for the values of labels as they are.
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

// StampOfLabels reads an instance's labels. It reports false if they are not a
// stamp of a version that this program knows, with a cluster and a nodeset in
// it: such an instance is not ours. The first instances had no version yet.
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
