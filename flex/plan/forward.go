package plan

import (
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
)

// The names that importers still find in this package.
type (
	Action            = action.Action
	BulkInsert        = action.BulkInsert
	CancelRequest     = action.CancelRequest
	CommentJob        = action.CommentJob
	CreateGroup       = action.CreateGroup
	CreatePolicy      = action.CreatePolicy
	CreateRequest     = action.CreateRequest
	CreateReservation = action.CreateReservation
	DeleteGroup       = action.DeleteGroup
	DeleteInstances   = action.DeleteInstances
	DeletePolicy      = action.DeletePolicy
	DeleteRequest     = action.DeleteRequest
	DeleteReservation = action.DeleteReservation
	DeleteVMs         = action.DeleteVMs
	Of                = action.Of
	OfJob             = action.OfJob
	OfReservation     = action.OfReservation
	RequeueJob        = action.RequeueJob
	ReturnNodes       = action.ReturnNodes
	SetNodes          = action.SetNodes
	SetReservation    = action.SetReservation
	SignalJob         = action.SignalJob
	Subject           = action.Subject
	Then              = action.Then
	UseReservation    = action.UseReservation
	Wait              = demand.Wait
	Why               = action.Why
)

const (
	Asking     = demand.Asking
	ByDeadline = demand.ByDeadline
	Cancel     = action.Cancel
	Hold       = action.Hold
	Queued     = demand.Queued
	Requeue    = action.Requeue
	Waiting    = demand.Waiting
)

var (
	IsAbandoned   = scene.IsAbandoned
	KeptUntil     = sweeps.KeptUntil
	Kinds         = action.Kinds
	NearDoors     = sweeps.NearDoors
	Needs         = action.Needs
	NeedsLimits   = demand.NeedsLimits
	Outcome       = demand.Outcome
	Survivors     = demand.Survivors
	Trials        = report.Trials
	Uncovered     = demand.Uncovered
	WithoutReason = demand.WithoutReason
	WithoutTrials = report.WithoutTrials
)
