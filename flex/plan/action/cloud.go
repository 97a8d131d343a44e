package action

import (
	"fmt"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// CreateGroup creates a managed instance group of size 0.
type CreateGroup struct {
	Of
	Spec mig.GroupSpec
	Why
}

func (a CreateGroup) about() Subject {
	return a.subject("create_group", "group created", fmt.Sprintf("create group %s in %s", a.Group.Name, a.Group.Region))
}

// CreateRequest creates a resize request in a group.
type CreateRequest struct {
	Of
	Spec   mig.RequestSpec
	Shared bool // its group is shared: the request fails independently of others
	Apart  bool // it waits for no other action in its group
	Why
}

// about describes the request. It has a queue of its own if it must not wait for others: Compute may
// take a minute to create a request.
func (a CreateRequest) about() Subject {
	text := fmt.Sprintf("request %s in %s/%s for %s", Counted(a.Spec.Instances), a.Group.Name, a.Spec.Name, slurm.Clock(a.Spec.Duration))
	about := a.subject("create_request", "machines requested", text, a.Spec.Instances...)
	if a.Apart {
		about.Queue += "/" + a.Spec.Name
	}
	return about
}

// CancelRequest cancels a live resize request. CONTRIBUTING.md lists what ends one.
type CancelRequest struct {
	Of
	Request string
	Yields  bool // it makes room for another request; slurmflex notifies its job's owner first
	Why
}

func (a CancelRequest) about() Subject {
	return a.subject("cancel_request", "request cancelled", fmt.Sprintf("cancel request %s/%s", a.Group.Name, a.Request))
}

// DeleteRequest deletes the record of a finished request.
type DeleteRequest struct {
	Of
	Request string
	Why
}

func (a DeleteRequest) about() Subject {
	return a.subject("delete_request", "record of request deleted", fmt.Sprintf("delete record of request %s/%s", a.Group.Name, a.Request))
}

// DeleteInstances deletes instances through the group that created them.
type DeleteInstances struct {
	Of
	Instances []mig.Instance
	Why
}

func (a DeleteInstances) about() Subject {
	names := mig.Names(a.Instances)
	return a.subject("delete_instances", "machines deleted", fmt.Sprintf("delete instances %s of %s", slurm.Fold(names), a.Group.Name), names...)
}

// DeleteGroup deletes an empty group.
type DeleteGroup struct {
	Of
	Why
}

func (a DeleteGroup) about() Subject {
	return a.subject("delete_group", "group deleted", "delete group "+a.Group.Name)
}

// CreatePolicy creates the workload policy that places a group's nodes close together. The policy
// has the group's name.
type CreatePolicy struct {
	Of
	Spec mig.PolicySpec
	Why
}

func (a CreatePolicy) about() Subject {
	return a.subject("create_policy", "workload policy created", fmt.Sprintf("create workload policy %s in %s", a.Group.Name, a.Group.Region))
}

// DeletePolicy deletes a workload policy that no group uses.
type DeletePolicy struct {
	Of
	Why
}

func (a DeletePolicy) about() Subject {
	return a.subject("delete_policy", "workload policy deleted", "delete workload policy "+a.Group.Name)
}

// BulkInsert creates instances without a group: for provisioning models without a queue, and on the
// legacy path of use_bulk_insert. Compute creates either all of them or none, and does not wait for
// capacity.
type BulkInsert struct {
	Of   // the group that the claim would have
	Spec mig.BulkSpec
	Why
}

func (a BulkInsert) about() Subject {
	text := fmt.Sprintf("insert %s in %s for %s", Counted(a.Spec.Instances), a.Spec.Region, lasting(a.Spec))
	return a.subject("bulk_insert", "machines created", text, a.Spec.Instances...)
}

// lasting describes the lease of the instances of a bulk insert.
func lasting(spec mig.BulkSpec) string {
	if spec.Duration == 0 {
		return fmt.Sprintf("no fixed time (%s)", spec.Model)
	}
	return slurm.Clock(spec.Duration)
}

// DeleteVMs deletes instances of ours that no group created.
type DeleteVMs struct {
	Instances []mig.Instance
	Why
}

// about describes the deletion. All such actions share a queue: their calls run in parallel.
func (a DeleteVMs) about() Subject {
	names := mig.Names(a.Instances)
	return Subject{Kind: "delete_vms", Done: "machines deleted", Text: "delete instances " + slurm.Fold(names), Queue: "instances", Nodes: names}
}
