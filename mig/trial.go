package mig

import (
	"regexp"
	"strings"
)

// slurmflex trial makes one group and one workload policy for a cluster. Their stamp carries a
// cluster name of their own: TrialName.

// trialForm matches the part of that name after the cluster's own.
var trialForm = regexp.MustCompile(`^-trial-[a-z]{5}$`)

// TrialName returns the cluster name of a trial, which ends in five random letters.
func TrialName(cluster, random string) string { return cluster + "-trial-" + random }

// TrialGroup names a trial's group.
func TrialGroup(trial string) string { return trial + "-g" }

// TrialPolicy names a trial's workload policy.
func TrialPolicy(trial string) string { return trial + "-p" }

// IsTrialOf reports whether a trial of the cluster made the group or workload policy of that name
// with this stamp. The groups of a real cluster that is named like a trial do not match: they are
// stamped for a job or a node.
func (s Stamp) IsTrialOf(cluster, name string) bool {
	rest, begins := strings.CutPrefix(s.Cluster, cluster)
	return begins && trialForm.MatchString(rest) && s.Job == 0 && s.Array == 0 && s.Node == "" &&
		(name == TrialGroup(s.Cluster) || name == TrialPolicy(s.Cluster))
}
