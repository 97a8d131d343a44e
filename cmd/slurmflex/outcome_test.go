package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/view"
)

func TestPassFailsUnlessAllIsDoneOrAnotherProcessDoesIt(t *testing.T) {
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("terminated"))
	failed := flex.Outcome{Failed: 1, Plan: plan.Plan{Actions: make([]action.Action, 2), Unseen: 1}}
	for says, c := range map[string]struct {
		ctx context.Context
		out flex.Outcome
		err error
	}{
		"": {t.Context(), flex.Outcome{}, nil},
		"1 of 2 actions failed; the next pass retries":                    {t.Context(), failed, nil},
		"2 regions could not be read; the next pass retries":              {t.Context(), flex.Outcome{Plan: plan.Plan{Unseen: 2}}, nil},
		"read nodes: refused":                                             {t.Context(), flex.Outcome{}, errors.New("read nodes: refused")},
		"pass interrupted: terminated; the next one continues from there": {interrupted, failed, errors.New("read nodes: killed")},
	} {
		err := outcome(c.ctx, c.out, c.err)
		if says == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, says)
	}
	for _, others := range []error{leader.ErrQueued, leader.ErrStandby} {
		assert.NoError(t, outcome(interrupted, flex.Outcome{}, fmt.Errorf("pass: %w", others)))
		assert.EqualError(t, outcome(t.Context(), failed, fmt.Errorf("pass: %w", others)), "1 of 2 actions failed; the next pass retries", "of an earlier pass")
	}
}

func TestPassWithActionsWasNotSkipped(t *testing.T) {
	for _, others := range []error{leader.ErrQueued, leader.ErrStandby} {
		assert.Equal(t, others.Error(), skipped(view.Pass{}, others))
		assert.Empty(t, skipped(view.Pass{Actions: make([]view.Action, 1)}, others))
	}
	assert.Empty(t, skipped(view.Pass{}, nil))
	assert.Empty(t, skipped(view.Pass{}, errors.New("read nodes: refused")))
}
