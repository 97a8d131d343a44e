package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
)

// Facts are what slurmflex relies on, in the order in which a trial tries them.
func Facts() []Fact {
	return slices.Concat(permissions(), groupFacts(), requestFacts(), machineFacts(), endFacts())
}

// permissions are those of scripts/iam/slurmflex-role.yaml that a trial can try. It does
// not try:
//   - compute.resourcePolicies.use: only a group of the few machine types that workload
//     policies support may use one, and the trial's machine should be a small one;
//   - compute.globalOperations.list: read only of a bulk insertion that has failed, and
//     what a bulk insertion makes is not in a group, whose deletion leaves nothing;
//   - those that creating instances needs (of disks, images and subnetworks,
//     compute.instances.create and set…): a lack of one shows as a refusal of the group
//     or of its requests.
func permissions() []Fact {
	return []Fact{
		may("read templates", "compute.instanceTemplates.get", func(s *seen) *outcome { return s.template }),
		may("read regions", "compute.regions.get", func(s *seen) *outcome { return s.region }),
		may("read zones", "compute.zones.get", func(s *seen) *outcome { return s.zone }),
		may("read machine types", "compute.machineTypes.get", func(s *seen) *outcome { return s.machineType }),
		may("list groups", "compute.instanceGroupManagers.list", func(s *seen) *outcome { return s.groups }),
		may("list instances", "compute.instances.list", func(s *seen) *outcome { return s.instances }),
		may("list policies", "compute.resourcePolicies.list", func(s *seen) *outcome { return s.policies }),
		may("read capacity advice", "compute.advice.capacity", func(s *seen) *outcome { return s.advice }),
		may("create groups", "compute.instanceGroupManagers.create, compute.instanceGroups.create, compute.regionOperations.get, "+
			"and what creating instances needs", func(s *seen) *outcome { return s.created }),
		may("read groups", "compute.instanceGroupManagers.get", func(s *seen) *outcome { return s.groupRead }),
		may("read members", "compute.instanceGroupManagers.get", func(s *seen) *outcome { return s.membersRead }),
		may("create policies", "compute.resourcePolicies.create", func(s *seen) *outcome { return s.policyCreated }),
		may("delete policies", "compute.resourcePolicies.delete", func(s *seen) *outcome { return s.policyDeleted }),
		may("create requests", "compute.instanceGroupManagers.update", func(s *seen) *outcome { return s.asked }),
		may("cancel requests", "compute.instanceGroupManagers.update", func(s *seen) *outcome { return s.cancelled }),
		may("delete requests", "compute.instanceGroupManagers.update", func(s *seen) *outcome { return s.forgotten }),
		may("delete machines of groups", "compute.instanceGroupManagers.update", func(s *seen) *outcome { return s.deletedMachine }),
		may("delete machines", "compute.instances.delete", func(s *seen) *outcome { return s.deletedVM }),
		may("delete groups", "compute.instanceGroupManagers.delete, compute.instanceGroups.delete", func(s *seen) *outcome { return s.deletedGroup }),
	}
}

// maxOff is how far Compute's clock may be from ours.
const maxOff = 30 * time.Second

func groupFacts() []Fact {
	return []Fact{
		{"clock", Documented, "compare the Date of an answer with this host's clock", "within 30s", func(s *seen) sight {
			c := s.clock
			switch {
			case c == nil:
				return sight{}
			case c.before.Sub(c.there) > maxOff || c.there.Sub(c.after) > maxOff:
				return sight{text: fmt.Sprintf("off by %s", c.after.Sub(c.there).Abs().Round(time.Second))}
			}
			return sight{text: "within 30s"}
		}},
		{"partial lists", Evident, "list instances with returnPartialSuccess", taken, call(func(s *seen) *outcome { return s.partial })},
		{"missing group", Evident, "read a group that does not exist", refused(mig.CauseNotFound), call(func(s *seen) *outcome { return s.absent })},
		{"repeated call", Documented, "send a call twice with one requestId", "one operation", func(s *seen) sight {
			switch o := s.operations; {
			case o == nil:
				return sight{}
			case o[0] != "" && o[0] == o[1]:
				return sight{text: "one operation"}
			default:
				return sight{text: "two answers", detail: fmt.Sprintf("%q and %q", o[0], o[1])}
			}
		}},
		{"empty group", Documented, "read the new group", "target size 0, 0 members, 0 requests", of(func(s *seen) *look { return s.empty }, func(l look) string {
			return fmt.Sprintf("%s, %d members, %d requests", size(l), len(l.members), len(l.group.Requests))
		})},
		{"stamp", Documented, "read the new group's description", "as written", func(s *seen) sight {
			if s.empty == nil {
				return sight{}
			}
			if s.empty.group.Stamp == s.spec.group().Stamp {
				return sight{text: "as written"}
			}
			return sight{text: "another text"}
		}},
		{"group's zones", Documented, "read the new group's zones and template", "as written", func(s *seen) sight {
			if s.empty == nil {
				return sight{}
			}
			g := s.empty.group
			if slices.Equal(g.Zones, slices.Sorted(slices.Values(s.spec.Zones))) && strings.HasSuffix(s.spec.Template.Link, "/"+g.Template) {
				return sight{text: "as written"}
			}
			return sight{text: fmt.Sprintf("zones %s, template %s", strings.Join(g.Zones, ", "), g.Template)}
		}},
		{"second group", Evident, "create a group of the same name", refused(mig.CauseExists), call(func(s *seen) *outcome { return s.createdAgain })},
	}
}

func requestFacts() []Fact {
	one := func(s *seen) string { return s.spec.instance(1) }
	waiting := func(s *seen) *look { return s.waiting }
	return []Fact{
		{"request", Documented, "create a request of 1 machine for 600 s", taken, call(func(s *seen) *outcome { return s.asked })},
		{"accepted", Documented, "read the request when its operation is done", string(mig.Accepted), of(waiting, func(l look) string { return l.state(requestCancelled) })},
		{"raised size", Inferred, "read the group while the request waits", "target size 1", of(waiting, size)},
		{"kept request", Documented, "read the request's names and lease", "as written", func(s *seen) sight {
			if s.waiting == nil {
				return sight{}
			}
			want := s.spec.request(requestCancelled)
			r, ok := s.waiting.request(requestCancelled)
			if ok && slices.Equal(r.Instances, want.Instances) && r.Duration == want.Duration {
				return sight{text: "as written"}
			}
			return sight{text: fmt.Sprintf("names %s, %s", strings.Join(r.Instances, ", "), r.Duration)}
		}},
		{"waiting member", Documented, "read the member that waits", "action CREATING, no machine", func(s *seen) sight {
			if s.waiting == nil || s.waiting.has(one(s)) { // its machine is being created: it does not wait
				return sight{}
			}
			return sight{text: s.waiting.memberText(one(s))}
		}},
		{"cancel", Documented, "cancel the request while it waits", taken, call(func(s *seen) *outcome { return s.cancelled })},
		{
			"cancelled", Documented, "read the cancelled request", string(mig.Cancelled),
			of(func(s *seen) *look { return s.afterCancel }, func(l look) string { return l.state(requestCancelled) }),
		},
		{"lowered size", Documented, "read the group after that", "target size 0", of(func(s *seen) *look { return s.afterCancel }, size)},
		{"cancelled member", Evident, "read its member after that", "no member", func(s *seen) sight {
			if s.afterCancel == nil {
				return sight{}
			}
			return sight{text: s.afterCancel.memberText(one(s))}
		}},
		{"second cancel", Evident, "cancel the cancelled request", refused(mig.CauseConflict), call(func(s *seen) *outcome { return s.cancelledAgain })},
		{
			"deleted record", Documented, "delete the cancelled request", "no record",
			of(func(s *seen) *look { return s.afterForget }, func(l look) string { return l.state(requestCancelled) }),
		},
		{"short lease", Evident, "create a request for 60 s", refused(mig.CauseConfig), call(func(s *seen) *outcome { return s.short })},
		{
			"refused record", Inferred, "read the refused request", string(mig.Failed),
			of(func(s *seen) *look { return s.afterShort }, func(l look) string { return l.state(requestShort) }),
		},
		{"second request", Inferred, "create a request of the same name", refused(mig.CauseExists), call(func(s *seen) *outcome { return s.requestedAgain })},
		{"delete while waiting", Inferred, "delete a request that waits", refused(mig.CauseConflict), func(s *seen) sight {
			l := s.afterDeleteActive
			if l == nil || l.has(s.spec.instance(0)) { // its machine came meanwhile: it did not wait
				return sight{}
			}
			return call(func(s *seen) *outcome { return s.deletedActive })(s)
		}},
	}
}

func machineFacts() []Fact {
	name := func(s *seen) string { return s.spec.instance(0) }
	running := func(s *seen) *look { return s.running }
	machine := func(text func(*seen, mig.Instance) string) func(*seen) sight {
		return func(s *seen) sight {
			if s.running == nil {
				return sight{}
			}
			in, ok := s.running.machine(name(s))
			if !ok {
				return sight{text: "not listed"}
			}
			return sight{text: text(s, in)}
		}
	}
	return []Fact{
		{
			"granted", Documented, "await the machine", string(mig.Succeeded),
			of(func(s *seen) *look { return s.granted }, func(l look) string { return l.state(requestDeleted) }),
		},
		{"granted size", Inferred, "read the group after that", "target size 1", of(running, size)},
		{"running member", Inferred, "read the member when the machine runs", "action NONE, machine RUNNING", func(s *seen) sight {
			if s.running == nil {
				return sight{}
			}
			return sight{text: s.running.memberText(name(s))}
		}},
		{"listed machine", Documented, "list instances by the beginning of their names", "RUNNING", machine(func(_ *seen, in mig.Instance) string { return in.Status })},
		{"flex-start machine", Evident, "read the machine's provisioning model", "FLEX_START", machine(func(_ *seen, in mig.Instance) string { return in.Model })},
		{"machine's group", Evident, "read created-by in its metadata", "the group", machine(func(s *seen, in mig.Instance) string {
			if in.Group == s.spec.Group() {
				return "the group"
			}
			return fmt.Sprintf("%q", in.Group)
		})},
		{"machine's zone", Documented, "read the machine's zone", "one of the group's", machine(func(s *seen, in mig.Instance) string {
			if slices.Contains(s.spec.Zones, in.Zone) {
				return "one of the group's"
			}
			return in.Zone
		})},
		{"lease", Inferred, "read when the lease of 600 s ends", "as requested", machine(leaseText)},
		{"late cancel", Evident, "cancel the request that has succeeded", refused(mig.CauseConflict), call(func(s *seen) *outcome { return s.cancelledLate })},
		{"deleted machine", Documented, "delete the machine through its group", "target size 0, no member", func(s *seen) sight {
			if s.afterMachine == nil {
				return sight{}
			}
			return sight{text: size(*s.afterMachine) + ", " + s.afterMachine.memberText(name(s))}
		}},
		{
			"lasting success", Inferred, "read the request after that", string(mig.Succeeded),
			of(func(s *seen) *look { return s.afterMachine }, func(l look) string { return l.state(requestDeleted) }),
		},
		{"name used again", Evident, "request a machine of the same name", taken, call(func(s *seen) *outcome { return s.requestedName })},
		{"lost machine", Inferred, "delete the machine without its group", "target size 1, action NONE, no machine", func(s *seen) sight {
			if s.afterLoss == nil {
				return sight{}
			}
			return sight{text: size(*s.afterLoss) + ", " + s.afterLoss.memberText(name(s))}
		}},
	}
}

// leaseText says whether the lease ends as requested: no earlier than that long after
// the machine's creation, and no later than after it was seen running. Compute gives
// whole seconds.
func leaseText(s *seen, in mig.Instance) string {
	if in.Terminates.IsZero() {
		return "no end"
	}
	least, most := in.Created.Add(mig.MinDuration-time.Second), s.running.at.Add(mig.MinDuration+maxOff)
	if in.Terminates.Before(least) || in.Terminates.After(most) {
		return fmt.Sprintf("%s after the creation", in.Terminates.Sub(in.Created).Round(time.Second))
	}
	return "as requested"
}

func endFacts() []Fact {
	return []Fact{
		{"deleted group", Documented, "delete the group", refused(mig.CauseNotFound), call(func(s *seen) *outcome { return s.readAfter })},
		{"empty lists", Documented, "list groups and instances after that", "0 groups, 0 machines", func(s *seen) sight {
			if s.left == nil {
				return sight{}
			}
			groups := 0
			if s.left.group.Name != "" {
				groups = 1
			}
			return sight{text: fmt.Sprintf("%d groups, %d machines", groups, len(s.left.machines))}
		}},
	}
}
