// Package trial checks in a project that Compute behaves as slurmflex expects. A trial creates a
// group and a few requests of one machine each, reads each answer, deletes everything, and compares
// its observations with a table of checks.
//
// Everything that a trial creates has names of its own and the ownership stamp of a cluster with
// that name. Passes of the real cluster therefore leave it alone, and the trial changes no other
// resources. If a trial is killed, passes report its remains, and gc and down delete them after an
// hour.
package trial

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
)

// Spec describes a trial.
type Spec struct {
	Project  string
	Cluster  string
	NodeSet  string
	Region   string
	Zones    []string
	Template mig.Template // as read from Compute, suitable for flex-start
	Random   string       // letters that distinguish this trial from the cluster's other trials
	// Wait is the limit for each of the two machines. After that, the trial skips the checks that
	// need the machine.
	Wait time.Duration
}

// Options are the flags of a trial.
type Options struct {
	NodeSet  string
	Template string // replaces the nodeset's template; empty: the nodeset's
	Wait     time.Duration
}

// longestWait is the longest time to wait for a machine. It is shorter than the hour after which a
// trial is considered killed.
const longestWait = 45 * time.Minute

// Check returns the nodeset with the template to try, or an error for invalid flags.
func (o Options) Check(cfg *config.Config) (*config.NodeSet, error) {
	if o.Wait <= 0 || o.Wait > longestWait {
		return nil, fmt.Errorf("--wait %s: must be more than 0 and at most %.0fm, such as 5m", o.Wait, longestWait.Minutes())
	}
	set, err := cfg.NeedFlexSet(o.NodeSet)
	if err != nil {
		return nil, err
	}
	if set.Flex.UseBulkInsert {
		return nil, fmt.Errorf("nodeset %s uses bulk insertion, which makes no groups; choose another nodeset", set.Name)
	}
	return set, nil
}

// Spec returns the spec of a trial of the nodeset. It reads the template.
func (o Options) Spec(ctx context.Context, cfg *config.Config, set *config.NodeSet, cloud Cloud) (spec Spec, err error) {
	template, err := cloud.Template(ctx, cmp.Or(o.Template, set.Template))
	if err != nil {
		return spec, err
	}
	if strings.Contains(template.Link, "/regions/") && !strings.Contains(template.Link, "/regions/"+set.Region+"/") {
		return spec, fmt.Errorf("template %s: must be global or in the nodeset's region %s", template.Link, set.Region)
	}
	if wrong := template.Contradictions(); len(wrong) > 0 {
		return spec, fmt.Errorf("template %s: %s", template.Link, strings.Join(wrong, "; "))
	}
	return Spec{
		Project: cfg.Project, Cluster: cfg.Cluster, NodeSet: set.Name, Region: set.Region, Zones: set.Zones,
		Template: template, Random: randomLetters(5), Wait: o.Wait,
	}, nil
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
func (s Spec) String() string {
	return fmt.Sprintf("Nodeset %s: project %s, region %s, zones %s. All names start with %s.\n"+
		"At most %d machine seconds of %s: 4 requests of 1 machine, 2 of which should bring none.\n",
		s.NodeSet, s.Project, s.Region, strings.Join(s.Zones, ", "), s.Name(), int(s.Most().Seconds()), s.Template.MachineType)
}

// Name is the prefix of all names of the trial, and the cluster name in its ownership stamp.
func (s Spec) Name() string { return mig.TrialName(s.Cluster, s.Random) }

// Group returns the name of the trial's only group.
func (s Spec) Group() string { return mig.TrialGroup(s.Name()) }

// Policy returns the name of the trial's workload policy, which nothing uses.
func (s Spec) Policy() string { return mig.TrialPolicy(s.Name()) }

func (s Spec) instance(n int) string { return fmt.Sprintf("%s-%d", s.Name(), n) }

func (s Spec) group() mig.GroupSpec {
	return mig.GroupSpec{
		Name: s.Group(), Region: s.Region, Template: s.Template.Link, Zones: s.Zones,
		Stamp: s.stamp(),
	}
}

func (s Spec) stamp() mig.Stamp {
	return mig.Stamp{Version: mig.StampVersion, Cluster: s.Name(), NodeSet: s.NodeSet}
}

func (s Spec) policy() mig.PolicySpec {
	return mig.PolicySpec{Name: s.Policy(), Region: s.Region, Stamp: s.stamp()}
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

func (s Spec) request(name string) mig.RequestSpec {
	r := mig.RequestSpec{Name: name, Instances: []string{s.instance(0)}, Duration: mig.MinDuration}
	switch name {
	case requestCancelled:
		r.Instances[0] = s.instance(1)
	case requestShort:
		r.Instances[0], r.Duration = s.instance(2), tooShort
	}
	return r
}

// Most returns the total machine time if every request creates a machine, even requests that must
// not, and every machine runs until its lease ends.
func (s Spec) Most() time.Duration {
	sum := time.Duration(0)
	for _, name := range []string{requestCancelled, requestShort, requestDeleted, requestLost} {
		sum += s.request(name).Duration
	}
	return sum
}

// Call is an API call of a trial.
type Call struct {
	Verb string
	Path string // below /compute/v1/
	Note string
}

// String formats the call as one line.
func (c Call) String() string {
	return strings.TrimSpace(fmt.Sprintf("%-6s %s  %s", c.Verb, c.Path, c.Note))
}

// Calls returns the calls that change something, in order, without the reads in between. The zone
// of an instance is unknown until the instance exists.
func (s Spec) Calls() []Call {
	region := "projects/" + s.Project + "/regions/" + s.Region
	groups, policies := region+"/instanceGroupManagers", region+"/resourcePolicies"
	group := groups + "/" + s.Group()
	requests := group + "/resizeRequests"
	create := Call{"POST", groups, fmt.Sprintf("%s: empty, from %s, in %s", s.Group(), s.Template.Link, strings.Join(s.Zones, ", "))}
	again := create
	again.Note = "the same requestId: nothing may happen"
	twice := create
	twice.Note = "another requestId: must be refused"
	ask := func(name, note string) Call {
		r := s.request(name)
		return Call{"POST", requests, strings.TrimSpace(fmt.Sprintf("%s: %s for %d s %s", name, r.Instances[0], int(r.Duration.Seconds()), note))}
	}
	return []Call{
		create, again, twice,
		{"POST", policies, s.Policy() + ": a workload policy that nothing uses"},
		{"DELETE", policies + "/" + s.Policy(), ""},
		ask(requestCancelled, ""),
		{"POST", requests + "/" + requestCancelled + "/cancel", ""},
		{"POST", requests + "/" + requestCancelled + "/cancel", "must be refused"},
		{"DELETE", requests + "/" + requestCancelled, "its record"},
		ask(requestShort, "must be refused"),
		ask(requestDeleted, ""),
		ask(requestDeleted, "must be refused"),
		{"DELETE", requests + "/" + requestDeleted, "while it waits: must be refused"},
		{"POST", requests + "/" + requestDeleted + "/cancel", "once the machine runs: must be refused"},
		{"POST", group + "/deleteInstances", s.instance(0)},
		ask(requestLost, ""),
		{"DELETE", "projects/" + s.Project + "/zones/ZONE/instances/" + s.instance(0), "without its group"},
		{"DELETE", group, ""},
	}
}
