package wake

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/test/must"
)

// alpha is a cluster with two nodesets of flex-start nodes, and one without.
const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_nodeset: [a3, one, cpu]}
nodeset:
  a3: {node_count_dynamic_max: 8, instance_template: projects/demo/regions/us-central1/instanceTemplates/flex,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {}}
  one: {node_count_dynamic_max: 4, instance_template: projects/demo/regions/europe-west4/instanceTemplates/flex,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b],
    dws_flex: {}}
  cpu: {node_count_dynamic_max: 2}
`

func TestSortGroupsTheNodesOfACall(t *testing.T) {
	cfg := must.Get(config.Parse("alpha.yaml", []byte(alpha)))
	assert.Equal(t, Nodes{
		Ours:    []string{"alpha-a3-0", "alpha-one-3"},
		Others:  []string{"alpha-cpu-1"},
		Unknown: []string{"alpha-a3-8", "beta-a3-0", "alpha-a3-00", ""},
	}, Sort(cfg, []string{
		"alpha-a3-0", "alpha-a3-8", "alpha-cpu-1", "beta-a3-0", "alpha-one-3", "alpha-a3-00", "",
	}))
	assert.Equal(t, Nodes{}, Sort(cfg, nil))
}

func TestResumedJobsReadsTheResumeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resume.json")
	_, err := ResumedJobs("")
	require.EqualError(t, err, "SLURM_RESUME_FILE is not set: called by hand, or by a Slurm that was built without JSON")
	_, err = ResumedJobs(path)
	require.EqualError(t, err, "SLURM_RESUME_FILE: open "+path+": no such file or directory")
	_, err = ResumedJobs("/dev/zero")
	require.ErrorContains(t, err, "is not a regular file")
	require.NoError(t, os.WriteFile(path, []byte(`{"jobs":[{"job_id":812},{"job_id":813}],`), 0o600))
	_, err = ResumedJobs(path)
	require.EqualError(t, err, "SLURM_RESUME_FILE "+path+": resume file: unexpected end of JSON input")
	require.NoError(t, os.WriteFile(path, []byte(`{"jobs":[{"job_id":812},{"job_id":813}],"all_nodes_resume":"alpha-a3-0"}`), 0o600))
	jobs, err := ResumedJobs(path)
	require.NoError(t, err)
	assert.Equal(t, []uint32{812, 813}, jobs)
}
