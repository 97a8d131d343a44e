package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
)

// checks returns all checks, in the order of a trial.
func checks() []check {
	return slices.Concat(permissions(), groupChecks(), requestChecks(), machineChecks(), endChecks())
}

// permissions returns the checks of those permissions in scripts/toolkit/slurmflex/slurmflex-role.yaml that a
// trial can try. A trial does not try these permissions:
//   - compute.resourcePolicies.use: only groups of the few machine types that support workload
//     policies can use a policy, and the trial's machine should be small.
//   - compute.globalOperations.list: slurmflex needs it only after a failed bulk insert. A trial
//     makes no bulk insert, because deleting the group would not delete machines of a bulk insert.
//   - the permissions to create instances (disks, images and subnetworks, compute.instances.create
//     and set…): if one is missing, Compute rejects the group or its requests.
func permissions() []check {
	return []check{
		may("read templates", "compute.instanceTemplates.get", "read template"),
		may("read regions", "compute.regions.get", "read region"),
		may("read zones", "compute.zones.get", "read zone"),
		may("read machine types", "compute.machineTypes.get", "read machine type"),
		may("list groups", "compute.instanceGroupManagers.list", "list groups"),
		may("list instances", "compute.instances.list", "list instances"),
		may("list policies", "compute.resourcePolicies.list", "list policies"),
		may("create groups", "compute.instanceGroupManagers.create, compute.instanceGroups.create, compute.regionOperations.get, "+
			"and what creating instances needs", "create group"),
		may("read groups", "compute.instanceGroupManagers.get", "read group"),
		may("read members", "compute.instanceGroupManagers.get", "read members"),
		may("create policies", "compute.resourcePolicies.create", "create policy"),
		may("delete policies", "compute.resourcePolicies.delete", "delete policy"),
		may("create requests", "compute.instanceGroupManagers.update", "create request"),
		may("cancel requests", "compute.instanceGroupManagers.update", "cancel request"),
		may("delete requests", "compute.instanceGroupManagers.update", "delete request"),
		may("delete machines of groups", "compute.instanceGroupManagers.update", "delete machine"),
		may("delete machines", "compute.instances.delete", "lose machine"),
		may("delete groups", "compute.instanceGroupManagers.delete, compute.instanceGroups.delete", "delete group"),
	}
}

// maxOff is the largest accepted difference between Compute's clock and this host's clock.
const maxOff = 30 * time.Second

func groupChecks() []check {
	return []check{
		{"clock", documented, "compare the Date of an answer with this host's clock", "within 30s", func(s *seen) observation {
			c := s.clock
			switch {
			case c == nil:
				return observation{}
			case c.before.Sub(c.there) > maxOff || c.there.Sub(c.after) > maxOff:
				return observation{text: fmt.Sprintf("off by %s", c.after.Sub(c.there).Abs().Round(time.Second))}
			}
			return observation{text: "within 30s"}
		}},
		{"repeated call", documented, "send a call twice with one requestId", "one operation", func(s *seen) observation {
			switch o := s.operations; {
			case o == nil:
				return observation{}
			case o[0] != "" && o[0] == o[1]:
				return observation{text: "one operation"}
			default:
				return observation{text: "two answers", detail: fmt.Sprintf("%q and %q", o[0], o[1])}
			}
		}},
		{"empty group", documented, "read the new group", "target size 0, 0 members, 0 requests", saw("empty group", func(_ *seen, l snapshot) string {
			return fmt.Sprintf("%s, %d members, %d requests", size(l), len(l.members), len(l.group.Requests))
		})},
		{"stamp", documented, "read the new group's description", "as written", saw("empty group", func(s *seen, l snapshot) string {
			if l.group.Stamp == s.spec.groupSpec().Stamp {
				return "as written"
			}
			return "another text"
		})},
		{"group's zones", documented, "read the new group's zones and template", "as written", saw("empty group", func(s *seen, l snapshot) string {
			g := l.group
			if slices.Equal(g.Zones, slices.Sorted(slices.Values(s.spec.zones))) && strings.HasSuffix(s.spec.template.Link, "/"+g.Template) {
				return "as written"
			}
			return fmt.Sprintf("zones %s, template %s", strings.Join(g.Zones, ", "), g.Template)
		})},
		{"second group", evident, "create a group of the same name", refused(mig.CauseExists), ended("create group again")},
	}
}

func requestChecks() []check {
	return []check{
		{"request", documented, "create a request of 1 machine for 600 s", taken, ended("create request")},
		{"accepted", documented, "read the request when its operation is done", string(mig.Accepted), sawState("waiting request", requestCancelled)},
		{"raised size", inferred, "read the group while the request waits", "target size 1", sawSize("waiting request")},
		{"kept request", documented, "read the request's names and lease", "as written", saw("waiting request", func(s *seen, l snapshot) string {
			want := s.spec.request(requestCancelled)
			r, ok := l.request(requestCancelled)
			if ok && slices.Equal(r.Instances, want.Instances) && r.Duration == want.Duration {
				return "as written"
			}
			return fmt.Sprintf("names %s, %s", strings.Join(r.Instances, ", "), r.Duration)
		})},
		{"waiting member", documented, "read the member that waits", "action CREATING, no machine", saw("waiting request", func(s *seen, l snapshot) string {
			// The machine is being created, so the request does not wait.
			if l.has(s.spec.instance(1)) {
				return ""
			}
			return l.memberText(s.spec.instance(1))
		})},
		{"cancel", documented, "cancel the request while it waits", taken, ended("cancel request")},
		{
			"cancelled", documented, "read the cancelled request", string(mig.Cancelled),
			sawState("cancelled request", requestCancelled),
		},
		{"lowered size", documented, "read the group after that", "target size 0", sawSize("cancelled request")},
		{"cancelled member", evident, "read its member after that", "no member", saw("cancelled request", func(s *seen, l snapshot) string { return l.memberText(s.spec.instance(1)) })},
		{"second cancel", evident, "cancel the cancelled request", refused(mig.CauseConflict), ended("cancel request again")},
		{
			"deleted record", documented, "delete the cancelled request", "no record",
			sawState("deleted request", requestCancelled),
		},
		{"short lease", evident, "create a request for 60 s", refused(mig.CauseConfig), ended("create short request")},
		{
			"refused record", inferred, "read the refused request", string(mig.Failed),
			sawState("short request", requestShort),
		},
		{"second request", inferred, "create a request of the same name", refused(mig.CauseExists), ended("request machine again")},
		{"delete while waiting", inferred, "delete a request that waits", refused(mig.CauseConflict), func(s *seen) observation {
			l := s.snapshot("active request")
			// The machine was created meanwhile, so the request did not wait.
			if l == nil || l.has(s.spec.instance(0)) {
				return observation{}
			}
			return ended("delete active request")(s)
		}},
	}
}

func machineChecks() []check {
	machine := func(text func(*seen, mig.Instance) string) observer {
		return saw("running machine", func(s *seen, l snapshot) string {
			in, ok := l.machine(s.spec.instance(0))
			if !ok {
				return "not listed"
			}
			return text(s, in)
		})
	}
	member := func(s *seen, l snapshot) string { return l.memberText(s.spec.instance(0)) }
	sizeAndMember := func(s *seen, l snapshot) string { return size(l) + ", " + member(s, l) }
	return []check{
		{
			"granted", documented, "await the machine", string(mig.Succeeded),
			sawState(endOf(requestDeleted), requestDeleted),
		},
		{"granted size", inferred, "read the group after that", "target size 1", sawSize("running machine")},
		{"running member", inferred, "read the member when the machine runs", "action NONE, machine RUNNING", saw("running machine", member)},
		{"listed machine", documented, "list instances by the beginning of their names", "RUNNING", machine(func(_ *seen, in mig.Instance) string { return in.Status })},
		{"flex-start machine", evident, "read the machine's provisioning model", "FLEX_START", machine(func(_ *seen, in mig.Instance) string { return in.Model })},
		{"machine's group", evident, "read created-by in its metadata", "the group", machine(func(s *seen, in mig.Instance) string {
			if in.Group == s.spec.group() {
				return "the group"
			}
			return fmt.Sprintf("%q", in.Group)
		})},
		{"machine's zone", documented, "read the machine's zone", "one of the group's", machine(func(s *seen, in mig.Instance) string {
			if slices.Contains(s.spec.zones, in.Zone) {
				return "one of the group's"
			}
			return in.Zone
		})},
		{"lease", inferred, "read when the lease of 600 s ends", "as requested", machine(leaseText)},
		{"late cancel", evident, "cancel the request that has succeeded", refused(mig.CauseConflict), ended("cancel late")},
		{"deleted machine", documented, "delete the machine through its group", "target size 0, no member", saw("deleted machine", sizeAndMember)},
		{
			"lasting success", inferred, "read the request after that", string(mig.Succeeded),
			sawState("deleted machine", requestDeleted),
		},
		{"name used again", evident, "request a machine of the same name", taken, ended("request name again")},
		{"lost machine", inferred, "delete the machine without its group", "target size 1, action NONE, no machine", saw("lost machine", sizeAndMember)},
	}
}

// leaseText reports whether the lease ends as requested: the requested time after the machine's
// creation at the earliest, and the requested time after it was seen running at the latest. maxOff
// allows for a pod, which is created after its node.
func leaseText(s *seen, in mig.Instance) string {
	if in.Terminates.IsZero() {
		return "no end"
	}
	least, most := in.Created.Add(mig.MinDuration-maxOff), s.snapshot("running machine").at.Add(mig.MinDuration+maxOff)
	if in.Terminates.Before(least) || in.Terminates.After(most) {
		return fmt.Sprintf("%s after the creation", in.Terminates.Sub(in.Created).Round(time.Second))
	}
	return "as requested"
}

func endChecks() []check {
	return []check{
		{"deleted group", documented, "delete the group", refused(mig.CauseNotFound), ended("read deleted group")},
		{"empty lists", documented, "list groups and instances after that", "0 groups, 0 machines", saw("lists at the end", func(_ *seen, l snapshot) string {
			groups := 0
			if l.group.Name != "" {
				groups = 1
			}
			return fmt.Sprintf("%d groups, %d machines", groups, len(l.machines))
		})},
	}
}
