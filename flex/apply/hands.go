// Package apply carries out the actions of a plan in Slurm and Compute.
package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/memory"
	"slurmflex/flex/plan/action"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Limit bounds one action. Compute may take over a minute to validate a resize request. The
// next pass finds everything that was not done by then.
const Limit = 3 * time.Minute

// Scheduler lists the calls to Slurm that actions make.
type Scheduler interface {
	Jobs(ctx context.Context) ([]slurm.Job, error)
	UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error

	// Reservations keep jobs off nodes with an ending lease, and keep other jobs off nodes that are
	// meant for one job.
	CreateReservation(ctx context.Context, spec slurm.ReservationSpec) error
	SetReservation(ctx context.Context, name string, change slurm.ReservationChange) error
	DeleteReservation(ctx context.Context, name string) error

	// A raw id identifies a job.
	JobRecords(ctx context.Context, jobs []uint32) ([]slurm.JobRecord, error)
	SetAdminComment(ctx context.Context, job uint32, text string) error
	NotifyJob(ctx context.Context, job uint32, text string) error
	SignalJob(ctx context.Context, job uint32, signal string) error
	RequeueJob(ctx context.Context, job uint32) error
	SetReservationOf(ctx context.Context, address, name string) error
	HoldJob(ctx context.Context, job uint32) error
	CancelJob(ctx context.Context, job uint32) error
}

// Cloud lists the calls to Compute that actions make. A call returns when the change is done, or with
// an error that has a mig.Cause.
type Cloud interface {
	CreateGroup(ctx context.Context, spec mig.GroupSpec) error
	CreateRequest(ctx context.Context, region, group string, spec mig.RequestSpec) error
	CancelRequest(ctx context.Context, region, group, request string) error
	DeleteRequest(ctx context.Context, region, group, request string) error
	DeleteInstances(ctx context.Context, region, group string, instances []mig.Instance) error
	DeleteGroup(ctx context.Context, region, group string) error

	BulkInsert(ctx context.Context, spec mig.BulkSpec) error
	DeleteVMs(ctx context.Context, instances []mig.Instance) error
	CreatePolicy(ctx context.Context, spec mig.PolicySpec) error
	DeletePolicy(ctx context.Context, region, name string) error
}

// Hands carry out actions. They are safe for concurrent use.
type Hands struct {
	Slurm  Scheduler
	Cloud  Cloud
	Memory *memory.Memory
	Log    *zap.Logger
	Now    func() time.Time

	// Did is called when an action has ended; nil: nobody asks.
	Did func(a action.Action, begun time.Time, took time.Duration, err error)

	// needs reports whether the newest plan still requests, or waits for, a machine for the node; nil:
	// every request is sent.
	needs func(node string) bool

	// ClosePartition stops a partition from starting jobs; nil in passes, which close none.
	ClosePartition func(ctx context.Context, name string) error
}

// Work executes the actions of one queue in order. It skips actions with a retry that is not due
// yet, actions that depend on a skipped or failed action, and requests for machines that are no
// longer needed: their job may have been cancelled while the earlier actions took their time. If an action fails after Limit,
// the whole queue ends: the cause is then more likely a hang than a rejection. It returns the
// number of undone actions, not counting retries that are not due.
func (h Hands) Work(ctx context.Context, actions []action.Action) (failed int) {
	began := h.Now()
	var left []action.Action
	for i, a := range actions {
		if InSlurm(a) && !h.Memory.IsDue(a, h.Now()) {
			left = append(left, a)
			continue
		}
		if slices.ContainsFunc(left, func(undone action.Action) bool { return action.Needs(a, undone) }) {
			left, failed = append(left, a), failed+1
			continue
		}
		if h.isNeedless(a) {
			h.Log.Info("request not sent", zap.String("action", action.About(a).Text), zap.String("why", "its reason has gone"))
			continue
		}
		begun := h.Now()
		actx, cancel := context.WithTimeout(ctx, Limit)
		err := h.Do(actx, a)
		cancel()
		took := h.Now().Sub(begun)
		if h.Did != nil {
			h.Did(a, begun, took, err)
		}
		times, isNews := h.Memory.Tried(a, err, h.Now())
		h.logAction(a, took, err, isNews)
		h.noteRefusal(a, err, times)
		switch {
		case err == nil:
		case h.Now().Sub(began) >= Limit:
			return failed + len(actions) - i
		default:
			left, failed = append(left, a), failed+1
		}
	}
	return failed
}

// isNeedless reports whether the action requests a machine that the newest plan does not need.
func (h Hands) isNeedless(a action.Action) bool {
	return h.needs != nil && slices.ContainsFunc(requestedBy(a), func(node string) bool { return !h.needs(node) })
}

// Do executes one action. Creating something that exists and deleting something that does not
// exist succeed.
func (h Hands) Do(ctx context.Context, a action.Action) error {
	switch a := a.(type) {
	case action.CreateGroup:
		return h.createGroup(ctx, a)
	case action.CreateRequest:
		return h.createRequest(ctx, a)
	case action.CancelRequest:
		h.Memory.ForgetRequest(a.Group, a.Request)
		return unlessGone(h.Cloud.CancelRequest(ctx, a.Group.Region, a.Group.Name, a.Request))
	case action.DeleteRequest:
		return unlessGone(h.Cloud.DeleteRequest(ctx, a.Group.Region, a.Group.Name, a.Request))
	case action.DeleteInstances:
		return unlessGone(h.Cloud.DeleteInstances(ctx, a.Group.Region, a.Group.Name, a.Instances))
	case action.DeleteVMs:
		h.Memory.Inserted.Forget(mig.Names(a.Instances)...)
		return h.Cloud.DeleteVMs(ctx, a.Instances)
	case action.BulkInsert:
		return h.bulkInsert(ctx, a)
	case action.CreatePolicy:
		return h.createPolicy(ctx, a)
	case action.DeletePolicy:
		h.Memory.Policies.Forget(a.Group)
		return unlessGone(h.Cloud.DeletePolicy(ctx, a.Group.Region, a.Group.Name))
	case action.DeleteGroup:
		h.Memory.ForgetGroup(a.Group)
		return unlessGone(h.Cloud.DeleteGroup(ctx, a.Group.Region, a.Group.Name))
	case action.SetNodes:
		return h.setNodes(ctx, a)
	case action.CreateReservation:
		return h.createReservation(ctx, a)
	case action.SetReservation:
		return h.setReservation(ctx, a)
	case action.DeleteReservation:
		return h.deleteReservation(ctx, a)
	case action.UseReservation:
		return h.useReservation(ctx, a)
	case action.CommentJob:
		return h.commentJob(ctx, a)
	case action.ReturnNodes:
		return h.returnNodes(ctx, a)
	case action.SignalJob:
		return h.signalJob(ctx, a)
	case action.RequeueJob:
		return h.requeueJob(ctx, a)
	case action.ClosePartition:
		return h.ClosePartition(ctx, a.Name)
	case action.EndJob:
		return h.endJob(ctx, a)
	case action.TellJob:
		return h.tellJob(ctx, a)
	}
	return fmt.Errorf("%T is not a known action", a)
}
