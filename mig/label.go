package mig

import "strconv"

// The labels that hold the stamp of an instance that no group made.
const (
	labelCluster = "slurmflex-cluster"
	labelNodeSet = "slurmflex-nodeset"
	labelJob     = "slurmflex-job"
	labelNode    = "slurmflex-node"
)

// Labels is the stamp as labels of an instance. Its names are parts of names
// of instances, so they are fit for the values of labels as they are.
func (s Stamp) Labels() map[string]string {
	labels := map[string]string{labelCluster: s.Cluster, labelNodeSet: s.NodeSet}
	if s.Job != 0 {
		labels[labelJob] = strconv.FormatUint(uint64(s.Job), 10)
	}
	if s.Node != "" {
		labels[labelNode] = s.Node
	}
	return labels
}

// StampOfLabels reads an instance's labels. It reports false if they are not a
// stamp with a cluster and a nodeset in it: such an instance is not ours.
func StampOfLabels(labels map[string]string) (Stamp, bool) {
	s := Stamp{
		Version: StampVersion,
		Cluster: labels[labelCluster], NodeSet: labels[labelNodeSet], Node: labels[labelNode],
	}
	if s.Cluster == "" || s.NodeSet == "" {
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
