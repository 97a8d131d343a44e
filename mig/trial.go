package mig

import (
	"regexp"
	"strings"
)

// What slurmflex trial makes for a cluster, its only group and its workload policy, carries
// the stamp of a cluster that is named so.

// trialForm is what follows the cluster's name.
var trialForm = regexp.MustCompile(`^-trial-[a-z]{5}$`)

// TrialName is the name of a cluster's trial, which has five random letters.
func TrialName(cluster, random string) string { return cluster + "-trial-" + random }

// TrialGroup names a trial's group.
func TrialGroup(trial string) string { return trial + "-g" }

// TrialPolicy names a trial's workload policy.
func TrialPolicy(trial string) string { return trial + "-p" }

// IsTrialOf reports whether a trial of the cluster made the group or workload policy of that
// name with this stamp. A cluster that happens to be named like a trial has no such groups:
// those are for a job or for a node.
func (s Stamp) IsTrialOf(cluster, name string) bool {
	rest, begins := strings.CutPrefix(s.Cluster, cluster)
	return begins && trialForm.MatchString(rest) && s.Job == 0 && s.Array == 0 && s.Node == "" &&
		(name == TrialGroup(s.Cluster) || name == TrialPolicy(s.Cluster))
}
