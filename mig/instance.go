package mig

import "time"

// Instance is a VM as Compute lists it.
type Instance struct {
	Name       string
	Zone       string // short name, such as us-central1-a
	Region     string
	Group      string    // the managed instance group that made it, from its metadata; empty if none did
	Stamp      Stamp     // from the labels of one that no group made; zero if it has none of its cluster
	Status     string    // the API's word: PROVISIONING, STAGING, RUNNING, STOPPING, …
	Created    time.Time // when the VM was created
	Terminates time.Time // the end of its lease; zero until it runs, or if it has none
	Maintained time.Time // when maintenance of its host begins, which stops it; zero if none is announced
	Model      string    // the provisioning model, by which it is billed
	Host       Host      // where the machine's host is; zero while it does not run, or if Compute does not show it
	Unread     string    // what of it could not be read; empty if all was. It is there, and nothing may be done to it
}

// Host is where a physical host is, in Compute's ids. Hosts of a subblock have a
// better network between them than those of a block, and these than those of a
// cluster.
type Host struct{ Cluster, Block, Subblock, Host string }

// Leaving reports whether the VM is on its way out, or stopped for good: a
// flex-start VM cannot be started again.
func (i Instance) Leaving() bool {
	switch i.Status {
	case "STOPPING", "PENDING_STOP", "STOPPED", "TERMINATED", "SUSPENDING", "SUSPENDED", "DEPROVISIONING":
		return true
	}
	return false
}

// Stopped reports whether the VM has stopped but is there still.
func (i Instance) Stopped() bool {
	return i.Status == "STOPPED" || i.Status == "TERMINATED" || i.Status == "SUSPENDED"
}

// Broken reports whether the VM's guest is gone for good though Google did not mean it
// to go: it has stopped, or its host has failed. Compute may start one in REPAIRING
// again, but what ran on it is lost. Source: Compute's page "Instance life cycle".
func (i Instance) Broken() bool { return i.Stopped() || i.Status == "REPAIRING" }

// Preempted reports whether the VM is a Spot one that goes: Google takes it back, which
// takes it half a minute, and nobody can stop that. Source: Compute's page "Spot VMs".
func (i Instance) Preempted() bool { return i.Model == Spot && i.Status == "STOPPING" }

// Lost reports whether the VM is broken, or about to be.
func (i Instance) Lost() bool { return i.Broken() || i.Preempted() }

// Until is when the VM ends as far as is known: when its lease does, or when maintenance
// of its host begins, if that is earlier. It is zero if neither is known.
func (i Instance) Until() time.Time {
	if i.Terminates.IsZero() || !i.Maintained.IsZero() && i.Maintained.Before(i.Terminates) {
		return i.Maintained
	}
	return i.Terminates
}

// Names returns the instances' names in their order.
func Names(instances []Instance) []string {
	names := make([]string, len(instances))
	for i, in := range instances {
		names[i] = in.Name
	}
	return names
}

// GroupID names the group that made the instance.
func (i Instance) GroupID() GroupID { return GroupID{i.Region, i.Group} }
