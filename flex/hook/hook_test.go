package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/flex/leader"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// fakeSlurm has the nodes alpha-a3-0 and -1, which power up, and a job that runs on the second one.
type fakeSlurm struct {
	unread error
	waits  []slurm.Job // more jobs
	record error       // of JobRecords
	stays  bool        // job 813 is not requeued
	downed []string    // nodes that were powered down by force
}

func (s *fakeSlurm) Nodes(context.Context) ([]slurm.Node, error) {
	up := slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")
	return []slurm.Node{{Name: "alpha-a3-0", State: up}, {Name: "alpha-a3-1", State: up}}, s.unread
}

func (s *fakeSlurm) Jobs(context.Context) ([]slurm.Job, error) {
	return append(s.waits, slurm.Job{ID: 812, State: slurm.JobRunning, Nodes: []string{"alpha-a3-1"}}), nil
}

func (s *fakeSlurm) JobRecords(context.Context, []uint32) ([]slurm.JobRecord, error) {
	if s.record != nil {
		return nil, s.record
	}
	return []slurm.JobRecord{{ID: 813, Batch: true, Requeue: !s.stays}}, nil
}

func (s *fakeSlurm) UpdateNodes(_ context.Context, names []string, change slurm.NodeChange) error {
	if change.State == "power_down_force" {
		s.downed = append(s.downed, names...)
	}
	return nil
}

// unreachable returns a hook without a daemon that cannot start a pass either, because any user may
// write to the lock's folder.
func unreachable(t *testing.T) (Hook, *fakeSlurm, *observer.ObservedLogs) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	cfg := scenetest.Cluster("slurmflex: {run_dir: "+dir+"}", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 2", ""))
	core, logged := observer.New(zap.InfoLevel)
	s := &fakeSlurm{}
	return Hook{Config: cfg, File: filepath.Join(dir, "config.yaml"), Slurm: s, Lock: leader.Lock{Dir: dir}, Log: zap.New(core)}, s, logged
}

func TestOnlyResumeReturnsNodesAndOnlyThoseWithoutAJob(t *testing.T) {
	for verb, downed := range map[string][]string{Resume: {"alpha-a3-0"}, Suspend: nil, ResumeFail: nil} {
		h, s, _ := unreachable(t)
		err := h.Run(t.Context(), wake.Call{Cluster: "alpha", Verb: verb, Nodes: "alpha-a3-[0-1]"}, nil)
		require.ErrorContains(t, err, verb+" alpha-a3-[0-1]: daemon not reachable (")
		assert.Equal(t, downed, s.downed, verb)
	}
}

// Slurm would end a job of salloc, or one with --no-requeue, without a message to its owner.
func TestFailedResumeKeepsNodesOfJobsThatMayNotBeRequeued(t *testing.T) {
	for name, c := range map[string]struct {
		slurm  fakeSlurm
		downed []string
		fails  string
	}{
		"it is requeued":             {fakeSlurm{}, []string{"alpha-a3-0"}, ""},
		"it is not requeued":         {fakeSlurm{stays: true}, nil, ""},
		"its record cannot be read":  {fakeSlurm{record: errors.New("no slurmctld")}, nil, "read job records: no slurmctld"},
		"the nodes cannot be read":   {fakeSlurm{unread: errors.New("no slurmctld")}, nil, "read nodes: no slurmctld"},
		"it is not the first holder": {fakeSlurm{waits: []slurm.Job{{ID: 814, State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-0"}}}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, logged := unreachable(t)
			s := &c.slurm
			s.waits = append(s.waits, slurm.Job{ID: 813, State: slurm.JobConfiguring, Nodes: []string{"alpha-a3-0"}})
			h.Slurm = s
			require.ErrorContains(t, h.Run(t.Context(), wake.Call{Verb: Resume, Nodes: "alpha-a3-[0-1]"}, nil), c.fails)
			assert.Equal(t, c.downed, s.downed)
			kept := logged.FilterField(zap.String("kept", "alpha-a3-0")).Len()
			assert.Equal(t, len(c.downed) == 0 && s.unread == nil, kept == 1)
		})
	}
}

func TestUnknownNodesAreOnlyLogged(t *testing.T) {
	h, s, logged := unreachable(t)
	require.NoError(t, h.Run(t.Context(), wake.Call{Verb: Resume, Nodes: "beta-[0-1]"}, errors.New("no file")))
	assert.Empty(t, s.downed)
	assert.Equal(t, 1, logged.FilterField(zap.String("unknown", "beta-[0-1]")).Len())
	assert.Equal(t, 1, logged.FilterMessage("SLURM_RESUME_FILE not read; finding the jobs with squeue").Len())
}
