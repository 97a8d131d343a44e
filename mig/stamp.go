package mig

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// StampVersion is the version of the stamps that this program writes. Groups with a newer version
// belong to a newer program and are left alone.
const StampVersion = 1

// Stamp is the JSON that slurmflex writes into a group's description. It marks the group as ours
// and names its cluster and nodeset. It also records the group's purpose: all nodes of a job (Node
// ""), one node of a job, or (Job 0) a single node, or jobs with one node each: the tasks of an
// array, or the jobs of a user that are not array tasks.
type Stamp struct {
	Version int    `json:"slurmflex"`
	Cluster string `json:"cluster"`
	NodeSet string `json:"nodeset"`
	Job     uint32 `json:"job,omitempty"`
	Array   uint32 `json:"array,omitempty"`
	User    string `json:"user,omitempty"` // see UserKey
	Node    string `json:"node,omitempty"`
}

// String returns the stamp as JSON, as in a group's description.
func (s Stamp) String() string {
	b, err := json.Marshal(s)
	if err != nil { // a struct of strings and numbers always encodes
		panic(err)
	}
	return string(b)
}

// ParseStamp parses a group's description. It returns false unless the description is a stamp with
// a cluster and a nodeset: slurmflex must not touch such a group. For a stamp of a newer version it
// reads only the version and the cluster, which every version has.
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

// UserKey returns 10 hexadecimal digits that stand for a Slurm user. Names of users may contain
// characters that names of groups must not, and do not leave the cluster.
func UserKey(user string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(user)) // never fails
	hash := sum.Sum64()
	return fmt.Sprintf("%010x", (hash>>40)^(hash&(1<<40-1))) // folded as FNV's authors advise
}

// IsFor reports whether the stamp belongs to the job, to the job's array or to the jobs of its user;
// array is 0 for a job outside an array.
func (s Stamp) IsFor(job, array uint32, user string) bool {
	return s.Job != 0 && s.Job == job || s.Shared() && s.Sharers() == Sharers(array, user)
}

// Sharers returns the part of a stamp for the tasks of an array, or if array is 0, for the user's
// jobs that are not array tasks. It is empty if the user is unknown.
func Sharers(array uint32, user string) Stamp {
	if array != 0 || user == "" {
		return Stamp{Array: array}
	}
	return Stamp{User: UserKey(user)}
}

// Sharers returns the part of the stamp that says whose jobs share the group.
func (s Stamp) Sharers() Stamp { return Stamp{Array: s.Array, User: s.User} }

// Shared reports whether the stamp belongs to several jobs of one node each.
func (s Stamp) Shared() bool { return s.Array != 0 || s.User != "" }

// ForJobs reports whether the stamp belongs to jobs, and not to a node that is powered up without a
// job.
func (s Stamp) ForJobs() bool { return s.Job != 0 || s.Shared() }

// Newer reports whether a newer program wrote the stamp. Objects with such a stamp are left alone.
func (s Stamp) Newer() bool { return s.Version > StampVersion }

// known reports whether the stamp is complete and its version is not newer than this program's.
func (s Stamp) known() bool {
	return s.Version >= 1 && s.Version <= StampVersion && s.Cluster != "" && s.NodeSet != ""
}
