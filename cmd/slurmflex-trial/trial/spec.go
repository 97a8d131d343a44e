package trial

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"slurmflex/mig"
)

// spec describes a trial.
type spec struct {
	project   string
	cluster   string
	nodeSet   string
	region    string
	zones     []string
	template  mig.Template // as read from Compute, suitable for flex-start
	elsewhere bool         // another program than Compute serves the region
	random    string       // letters that distinguish this trial from the cluster's other trials
	// wait is the limit for each of the two machines. After that, the trial skips the checks that
	// need the machine.
	wait time.Duration
}

// randomLetters returns n random consonants, so that they never form a word.
func randomLetters(n int) string {
	const letters = "bcdfghjkmnpqrstvwxz"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.N(len(letters))]
	}
	return string(b)
}

// String describes the resources of a trial.
func (s spec) String() string {
	return fmt.Sprintf("Nodeset %s: project %s, region %s, zones %s. All names start with %s.\n"+
		"At most %d machine seconds of %s: 4 requests of 1 machine, 2 of which should bring none.\n",
		s.nodeSet, s.project, s.region, strings.Join(s.zones, ", "), s.name(), int(s.most().Seconds()), s.template.MachineType)
}

// owner returns the cluster name in the ownership stamps of all trials of a cluster. It ends with a
// dash, which no cluster's name does.
func owner(cluster string) string { return cluster + "-trial-" }

// name is the prefix of all names of the trial. It starts with the owner's name and a dash, because
// lists select by that.
func (s spec) name() string { return owner(s.cluster) + "-" + s.random }

// group returns the name of the trial's only group.
func (s spec) group() string { return s.name() + "-g" }

// policy returns the name of the trial's workload policy, which nothing uses.
func (s spec) policy() string { return s.name() + "-p" }

func (s spec) instance(n int) string { return fmt.Sprintf("%s-%d", s.name(), n) }

func (s spec) groupSpec() mig.GroupSpec {
	return mig.GroupSpec{Name: s.group(), Region: s.region, Template: s.template.Link, Zones: s.zones, Stamp: s.stamp()}
}

func (s spec) policySpec() mig.PolicySpec {
	return mig.PolicySpec{Name: s.policy(), Region: s.region, Stamp: s.stamp()}
}

func (s spec) stamp() mig.Stamp {
	return mig.Stamp{Version: mig.StampVersion, Cluster: owner(s.cluster), NodeSet: s.nodeSet}
}

// tooShort is a lease below Compute's minimum.
const tooShort = time.Minute

// These are the trial's requests, for one machine each.
const (
	requestCancelled = "cancelled" // cancelled as soon as Compute has accepted it
	requestShort     = "short"     // must be rejected
	requestDeleted   = "deleted"   // its machine is deleted through the group, as slurmflex does
	requestLost      = "lost"      // its machine is deleted behind the group's back
)

func (s spec) request(name string) mig.RequestSpec {
	r := mig.RequestSpec{Name: name, Instances: []string{s.instance(0)}, Duration: mig.MinDuration}
	switch name {
	case requestCancelled:
		r.Instances[0] = s.instance(1)
	case requestShort:
		r.Instances[0], r.Duration = s.instance(2), tooShort
	}
	return r
}

// most returns the total machine time if every request creates a machine, even requests that must
// not, and every machine runs until its lease ends.
func (s spec) most() time.Duration {
	sum := time.Duration(0)
	for _, name := range []string{requestCancelled, requestShort, requestDeleted, requestLost} {
		sum += s.request(name).Duration
	}
	return sum
}
