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

func (a CreateGroup) About() Subject { return a.about("create_group") }
func (a CreateGroup) String() string {
	return fmt.Sprintf("create group %s in %s", a.Group.Name, a.Group.Region)
}

// CreateRequest creates a resize request in a group.
type CreateRequest struct {
	Of
	Spec   mig.RequestSpec
	Shared bool // its group is shared: the request fails independently of others
	Apart  bool // it waits for no other action in its group
	Why
}

// Queue returns a queue for this request alone if it must not wait for others: Compute may take a
// minute to create a request.
func (a CreateRequest) Queue() string {
	if a.Apart {
		return a.Of.Queue() + "/" + a.Spec.Name
	}
	return a.Of.Queue()
}

func (a CreateRequest) About() Subject { return a.about("create_request", a.Spec.Instances...) }
func (a CreateRequest) String() string {
	return fmt.Sprintf("request %s in %s/%s for %s", Counted(a.Spec.Instances), a.Group.Name, a.Spec.Name, slurm.Clock(a.Spec.Duration))
}

// CancelRequest cancels a live resize request. CONTRIBUTING.md lists what ends one.
type CancelRequest struct {
	Of
	Request string
	Yields  bool // it makes room for another request; slurmflex notifies its job's owner first
	Why
}

func (a CancelRequest) About() Subject { return a.about("cancel_request") }
func (a CancelRequest) String() string {
	return fmt.Sprintf("cancel request %s/%s", a.Group.Name, a.Request)
}

// DeleteRequest deletes the record of a finished request.
type DeleteRequest struct {
	Of
	Request string
	Why
}

func (a DeleteRequest) About() Subject { return a.about("delete_request") }
func (a DeleteRequest) String() string {
	return fmt.Sprintf("delete record of request %s/%s", a.Group.Name, a.Request)
}

// DeleteInstances deletes instances through the group that created them.
type DeleteInstances struct {
	Of
	Instances []mig.Instance
	Why
}

func (a DeleteInstances) About() Subject {
	return a.about("delete_instances", mig.Names(a.Instances)...)
}

func (a DeleteInstances) String() string {
	return fmt.Sprintf("delete instances %s of %s", slurm.Fold(mig.Names(a.Instances)), a.Group.Name)
}

// DeleteGroup deletes an empty group.
type DeleteGroup struct {
	Of
	Why
}

func (a DeleteGroup) About() Subject { return a.about("delete_group") }
func (a DeleteGroup) String() string { return "delete group " + a.Group.Name }

// CreatePolicy creates the workload policy that places a group's nodes close together. The policy
// has the group's name.
type CreatePolicy struct {
	Of
	Spec mig.PolicySpec
	Why
}

func (a CreatePolicy) About() Subject { return a.about("create_policy") }
func (a CreatePolicy) String() string {
	return fmt.Sprintf("create workload policy %s in %s", a.Group.Name, a.Group.Region)
}

// DeletePolicy deletes a workload policy that no group uses.
type DeletePolicy struct {
	Of
	Why
}

func (a DeletePolicy) About() Subject { return a.about("delete_policy") }
func (a DeletePolicy) String() string { return "delete workload policy " + a.Group.Name }

// BulkInsert creates instances without a group: for provisioning models without a queue, and on the
// legacy path of use_bulk_insert. Compute creates either all of them or none, and does not wait for
// capacity.
type BulkInsert struct {
	Of   // the group that the claim would have
	Spec mig.BulkSpec
	Why
}

func (a BulkInsert) About() Subject { return a.about("bulk_insert", a.Spec.Instances...) }
func (a BulkInsert) String() string {
	return fmt.Sprintf("insert %s in %s for %s", Counted(a.Spec.Instances), a.Spec.Region, lasting(a.Spec))
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

func (a DeleteVMs) About() Subject { return Subject{Kind: "delete_vms", Nodes: mig.Names(a.Instances)} }

func (a DeleteVMs) String() string { return "delete instances " + slurm.Fold(mig.Names(a.Instances)) }

// Queue returns one queue for all such actions: their calls run in parallel.
func (a DeleteVMs) Queue() string { return "instances" }
