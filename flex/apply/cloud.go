package apply

import (
	"context"
	"fmt"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
)

func (h Hands) createGroup(ctx context.Context, a action.CreateGroup) error {
	err := h.Cloud.CreateGroup(ctx, a.Spec)
	if call := mig.FailedCall(err); call.Cause == mig.CauseExists && call.Owner == a.Spec.Stamp {
		err = nil // by an earlier process, and the list does not show it yet
	}
	h.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
	if err == nil {
		h.Memory.Groups.Note(a.Group, mig.Group{
			Name: a.Spec.Name, Region: a.Spec.Region, Stamp: a.Spec.Stamp, Policy: a.Spec.Policy, Created: h.Now(),
		}, h.Now())
	}
	return lookAgain(err)
}

func (h Hands) createPolicy(ctx context.Context, a action.CreatePolicy) error {
	err := h.Cloud.CreatePolicy(ctx, a.Spec)
	h.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
	if err == nil {
		h.Memory.Policies.Note(a.Group, mig.Policy{
			Name: a.Spec.Name, Region: a.Spec.Region, Stamp: a.Spec.Stamp, Distance: a.Spec.Distance, Created: h.Now(),
		}, h.Now())
	}
	return lookAgain(err)
}

func (h Hands) createRequest(ctx context.Context, a action.CreateRequest) error {
	// The request is recorded before the call, for a pass that looks meanwhile.
	h.Memory.NoteRequest(a.Group, a.Spec, h.Now())
	err := h.Cloud.CreateRequest(ctx, a.Group.Region, a.Group.Name, a.Spec)
	switch {
	case mig.CauseOf(err) == mig.CauseExists:
		return nil
	case mig.CauseOf(err) == mig.CauseNotFound:
		h.Memory.ForgetGroup(a.Group)
	case err != nil:
		h.Memory.ForgetRequest(a.Group, a.Spec.Name)
	}
	if !a.Shared {
		h.noteOutcome(a.Group.Name, a.Job, err)
		return err
	}
	for _, node := range a.Spec.Instances {
		h.noteOutcome(demand.Outcome(a.Group.Name, node), a.Job, err)
	}
	return err
}

// bulkInsert creates instances. They count as created from the end of the call, because Compute may
// work on the call for longer than its lists lag.
func (h Hands) bulkInsert(ctx context.Context, a action.BulkInsert) error {
	remember := func() {
		for _, name := range a.Spec.Instances {
			h.Memory.Inserted.Note(name, false, h.Now())
		}
	}
	remember()
	err := h.Cloud.BulkInsert(ctx, a.Spec)
	if err == nil || mig.IsUnknown(err) {
		remember()
	} else {
		h.Memory.Inserted.Forget(a.Spec.Instances...)
	}
	h.noteOutcome(a.Group.Name, a.Spec.Stamp.Job, err)
	return err
}

// noteOutcome records the outcome of creating something for a job's group. Failures that an earlier
// process saw are in the job's AdminComment.
func (h Hands) noteOutcome(group string, job uint32, err error) {
	if err == nil {
		h.Memory.Refusals.Forget(group)
		return
	}
	was, _, _ := h.Memory.Refusals.Get(group)
	told, _, _ := h.Memory.Told.Get(job)
	call := mig.FailedCall(err)
	h.Memory.Refusals.Note(group, was.Fail(call.Trouble, call.Owner.Cluster, h.Now(), memo.ParseFailed(told)), h.Now())
}

// lookAgain adds the next step to the error for a name that is already taken. The existing thing
// may be the cluster's own, from an interrupted pass, or foreign. Its ownership stamp decides when
// the next pass reads it.
func lookAgain(err error) error {
	if mig.CauseOf(err) == mig.CauseExists {
		return fmt.Errorf("look at it again: %w", err)
	}
	return err
}

func unlessGone(err error) error {
	if mig.CauseOf(err) == mig.CauseNotFound {
		return nil
	}
	return err
}
