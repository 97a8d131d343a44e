// Package filler adds data to views that passes do not collect: estimates, prices and quotas.
// Passes never wait for it.
package filler

import (
	"context"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// Filler adds to a view everything that passes do not collect.
type Filler struct {
	Estimates *Estimates
	Prices    *Prices
	Quotas    *Quotas
}

// Fill adds to a view what is known.
func (f Filler) Fill(v *view.View) {
	f.Estimates.Fill(v)
	f.Prices.Fill(v)
	f.Quotas.Fill(v)
}

// Keep keeps estimates and quotas up to date, if each pass of a daemon calls it.
func (f Filler) Keep(ctx context.Context, s *scene.Scene, p plan.Plan) {
	f.Estimates.Keep(s, p)
	f.Quotas.Keep(ctx, s)
}
