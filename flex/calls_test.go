package flex

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheNodesOfACallAreSortedByWhomTheyConcern(t *testing.T) {
	assert.Equal(t, Calls{
		Ours:    []string{"alpha-a3-0", "alpha-one-3"},
		Others:  []string{"alpha-cpu-1"},
		Unknown: []string{"alpha-a3-8", "beta-a3-0", "alpha-a3-00", ""},
	}, Sort(alphaConfig(t), []string{
		"alpha-a3-0", "alpha-a3-8", "alpha-cpu-1", "beta-a3-0", "alpha-one-3", "alpha-a3-00", "",
	}))
	assert.Equal(t, Calls{}, Sort(alphaConfig(t), nil))
}

func TestTheJobsOfACallAreThoseOfItsResumeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resume.json")
	_, err := ResumedJobs("")
	require.EqualError(t, err, "SLURM_RESUME_FILE is not set: called by hand, or by a Slurm that was built without JSON")
	_, err = ResumedJobs(path)
	require.EqualError(t, err, "SLURM_RESUME_FILE: open "+path+": no such file or directory")
	require.NoError(t, os.WriteFile(path, []byte(`{"jobs":[{"job_id":812},{"job_id":813}],`), 0o600))
	_, err = ResumedJobs(path)
	require.EqualError(t, err, "SLURM_RESUME_FILE "+path+": resume file: unexpected end of JSON input")
	require.NoError(t, os.WriteFile(path, []byte(`{"jobs":[{"job_id":812},{"job_id":813}],"all_nodes_resume":"alpha-a3-0"}`), 0o600))
	jobs, err := ResumedJobs(path)
	require.NoError(t, err)
	assert.Equal(t, []uint32{812, 813}, jobs)
}
