package mig

import (
	"encoding/json"
	"strings"
)

// StampVersion is the version of the stamps that this program writes. Groups
// with a newer one belong to a newer program and are left alone.
const StampVersion = 1

// Stamp is what we write into a group's description, as JSON. It says that the
// group is ours, of which cluster and nodeset, and for whom it was made: for all
// nodes of a job (Node ""), for one node of a job, or (Job 0) for one node or for the
// tasks of an array that have one node each.
type Stamp struct {
	Version int    `json:"slurmflex"`
	Cluster string `json:"cluster"`
	NodeSet string `json:"nodeset"`
	Job     uint32 `json:"job,omitempty"`
	Array   uint32 `json:"array,omitempty"`
	Node    string `json:"node,omitempty"`
}

// String is the stamp as written into a group's description.
func (s Stamp) String() string {
	b, err := json.Marshal(s)
	if err != nil { // a struct of strings and numbers always encodes
		panic(err)
	}
	return string(b)
}

// ParseStamp reads a group's description. It reports false for anything that
// is not a stamp with a cluster and a nodeset in it: such a group is not ours to
// touch. Of a newer stamp it reads the version and the cluster only, which every
// version has.
func ParseStamp(description string) (Stamp, bool) {
	var head struct {
		Version int    `json:"slurmflex"`
		Cluster string `json:"cluster"`
	}
	if err := json.Unmarshal([]byte(description), &head); err == nil && head.Version > StampVersion && head.Cluster != "" {
		return Stamp{Version: head.Version, Cluster: head.Cluster}, true
	}
	var s Stamp
	if err := json.Unmarshal([]byte(description), &s); err != nil {
		return Stamp{}, false
	}
	if !s.known() {
		return Stamp{}, false
	}
	return s, true
}

// MayBeStampOf reports whether a description that is no stamp may be what is left
// of one of the cluster's: it has our key, and names no other cluster.
func MayBeStampOf(cluster, description string) bool {
	var head struct {
		Cluster string `json:"cluster"`
	}
	err := json.Unmarshal([]byte(description), &head)
	return strings.Contains(description, `"slurmflex"`) && (err != nil || head.Cluster == "" || head.Cluster == cluster)
}

// IsFor reports whether the stamp is of what was made for the job, a task of that array;
// array is 0 for a job that is no task.
func (s Stamp) IsFor(job, array uint32) bool {
	return s.Job != 0 && s.Job == job || s.Array != 0 && s.Array == array
}

// Newer reports whether a newer program has written the stamp: what bears it is
// left alone.
func (s Stamp) Newer() bool { return s.Version > StampVersion }

// known reports whether the stamp is complete, and of a version that this
// program knows: its own, or an older one.
func (s Stamp) known() bool {
	return s.Version >= 1 && s.Version <= StampVersion && s.Cluster != "" && s.NodeSet != ""
}
