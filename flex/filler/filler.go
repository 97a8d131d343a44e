// Package filler adds data to views that passes do not collect: estimates and prices.
// Passes never wait for it.
package filler

import (
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// Filler adds to a view everything that passes do not collect.
type Filler struct {
	Estimates *Estimates
	Prices    *Prices
}

// Fill adds to a view what is known.
func (f Filler) Fill(v *view.View) {
	f.Estimates.Fill(v)
	f.Prices.Fill(v)
}

// Keep keeps estimates up to date, if each pass of a daemon calls it.
func (f Filler) Keep(s *scene.Scene, p plan.Plan) { f.Estimates.Keep(s, p) }
