package mig

import (
	"regexp"
	"strings"
)

// slurmflex trial creates one group and one workload policy for a cluster. Their stamps have a
// cluster name of their own: see TrialName.

// trialForm matches the part of a trial's name after the cluster's name.
var trialForm = regexp.MustCompile(`^-trial-[a-z]{5}$`)

// TrialName returns the cluster name of a trial, which ends in five random letters.
func TrialName(cluster, random string) string { return cluster + "-trial-" + random }

// TrialGroup returns the name of a trial's group.
func TrialGroup(trial string) string { return trial + "-g" }

// TrialPolicy returns the name of a trial's workload policy.
func TrialPolicy(trial string) string { return trial + "-p" }

// IsTrialOf reports whether a trial of the cluster created the group or workload policy with this
// name and stamp. Groups of a real cluster with a name like a trial's do not match, because they
// are stamped for a job or a node.
func (s Stamp) IsTrialOf(cluster, name string) bool {
	rest, begins := strings.CutPrefix(s.Cluster, cluster)
	return begins && trialForm.MatchString(rest) && !s.ForJobs() && s.Node == "" &&
		(name == TrialGroup(s.Cluster) || name == TrialPolicy(s.Cluster))
}
