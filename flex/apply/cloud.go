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
	if mig.CauseOf(err) == mig.CauseExists && mig.OwnerOf(err) == a.Spec.Stamp {
		err = nil // by an earlier process, and the list does not show it yet
	}
	h.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
	if err == nil {
		h.Memory.Made.NoteGroup(a.Spec, h.Now())
	}
	return lookAgain(err)
}

func (h Hands) createPolicy(ctx context.Context, a action.CreatePolicy) error {
	err := h.Cloud.CreatePolicy(ctx, a.Spec)
	h.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
	if err == nil {
		h.Memory.Made.NotePolicy(a.Spec, h.Now())
	}
	return lookAgain(err)
}

func (h Hands) createRequest(ctx context.Context, a action.CreateRequest) error {
	// The request is recorded before the call, for a pass that looks meanwhile.
	h.Memory.Made.NoteRequest(a.Group.Region, a.Group.Name, a.Spec, h.Now())
	err := h.Cloud.CreateRequest(ctx, a.Group.Region, a.Group.Name, a.Spec)
	switch {
	case mig.CauseOf(err) == mig.CauseExists:
		return nil
	case mig.CauseOf(err) == mig.CauseNotFound:
		h.Memory.Made.Forget(a.Group.Region, a.Group.Name, nil)
	case err != nil:
		h.Memory.Made.DropRequest(a.Group.Region, a.Group.Name, a.Spec.Name)
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

func (h Hands) bulkInsert(ctx context.Context, a action.BulkInsert) error {
	h.Memory.Made.NoteInserted(a.Spec.Instances, h.Now())
	err := h.Cloud.BulkInsert(ctx, a.Spec)
	h.Memory.Made.EndInsert(a.Spec.Instances, err, h.Now())
	h.noteOutcome(a.Group.Name, a.Spec.Stamp.Job, err)
	return err
}

// noteOutcome records the outcome of creating something for a job's group. Failures that an earlier
// process saw are in the job's AdminComment.
func (h Hands) noteOutcome(group string, job uint32, err error) {
	known := h.Memory.Owners.Last(job)
	h.Memory.Refusals.Note(group, err, h.Now(), memo.ParseFailed(known.Told))
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
