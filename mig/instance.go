package mig

import "time"

// Instance is a VM as Compute lists it.
type Instance struct {
	Name       string
	Zone       string // short name, such as us-central1-a
	Region     string
	Group      string    // its managed instance group; empty: none
	Stamp      Stamp     // from the labels of an instance without a group; zero: no stamp of its cluster
	Status     string    // the API's status: PROVISIONING, STAGING, RUNNING, STOPPING, …
	Created    time.Time // when the VM was created
	Terminates time.Time // the end of its lease; zero until it runs, or without a lease
	Maintained time.Time // start of announced host maintenance, which stops the VM; zero: none
	Host       string    // its physical host; empty until it runs, or if Compute does not show it
	Model      string    // the provisioning model, which decides the price
	Unread     string    // the parts that could not be read; empty: none. If set, leave the instance alone
}

// Leaving reports whether the VM is being deleted, or has stopped for good: a flex-start VM cannot
// be restarted.
func (i Instance) Leaving() bool {
	switch i.Status {
	case "STOPPING", "PENDING_STOP", "STOPPED", "TERMINATED", "SUSPENDING", "SUSPENDED", "DEPROVISIONING":
		return true
	}
	return false
}

// Stopped reports whether the VM has stopped but still exists.
func (i Instance) Stopped() bool {
	return i.Status == "STOPPED" || i.Status == "TERMINATED" || i.Status == "SUSPENDED"
}

// Broken reports whether the VM's guest was lost without a deletion: the VM has stopped, or its
// host has failed. Compute may restart a VM in REPAIRING, but its workload is lost. Source:
// Compute's page "Instance life cycle".
func (i Instance) Broken() bool { return i.Stopped() || i.Status == "REPAIRING" }

// Preempted reports whether the VM is a Spot VM that Google is stopping. This takes 30 seconds and
// cannot be prevented. Source: Compute's page "Spot VMs".
func (i Instance) Preempted() bool { return i.Model == Spot && i.Status == "STOPPING" }

// Lost reports whether the VM is broken or is being preempted.
func (i Instance) Lost() bool { return i.Broken() || i.Preempted() }

// Until returns the earlier of the end of the lease and the start of announced host maintenance;
// zero if neither is known.
func (i Instance) Until() time.Time {
	if i.Terminates.IsZero() || !i.Maintained.IsZero() && i.Maintained.Before(i.Terminates) {
		return i.Maintained
	}
	return i.Terminates
}

// Names returns the names of the instances, in order.
func Names(instances []Instance) []string {
	names := make([]string, len(instances))
	for i, in := range instances {
		names[i] = in.Name
	}
	return names
}

// GroupID returns the ID of the group that created the instance.
func (i Instance) GroupID() GroupID { return GroupID{i.Region, i.Group} }
