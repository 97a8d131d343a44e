package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/logs"
)

func TestProcessHasOneSlurmClient(t *testing.T) {
	a := &app{}
	cfg := &config.Config{SlurmBinDir: "/usr/bin", Project: "demo", Options: config.Options{ComputeEndpoint: "http://compute.test"}}
	require.NoError(t, a.with(t.Context(), cfg, logs.Log{Logger: zap.NewNop()}, func(r *flex.Reconciler) error {
		assert.Same(t, r.Scheduler, a.lock(cfg).Permission.Slurm, "the limit of two commands at once is the client's")
		return nil
	}))
}
