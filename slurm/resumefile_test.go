package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files under testdata are those of each version.
func TestResumeFileListsItsJobs(t *testing.T) {
	eachRead(t, ResumedJobs, map[string][]uint32{
		`{"jobs":[],"all_nodes_resume":"s0"}`:                                                        nil, // powered up by hand
		`{"jobs":null,"later":{"a":[1]},"all_nodes":null,"all_nodes_resume":"s0"}`:                   nil,
		`{"jobs":[{"job_id":1,"partition":null,"nodes_resume":"not[a"}],"all_nodes_resume":"not[a"}`: {1},
	})
}

func TestUnusableResumeFileIsRefused(t *testing.T) {
	eachRefused(t, ResumedJobs, map[string]string{
		"":                        "resume file: empty",
		`{"jobs":[],"all_no`:      "resume file: unexpected end of JSON input",
		`{"all_nodes":"f0"}x`:     "resume file: invalid character 'x' after top-level value",
		`[]`:                      "resume file: the whole is of type array",
		`{"jobs":[{"job_id":1}]}`: "resume file: neither all_nodes_resume nor all_nodes",
	})
}

// A1
func TestUnreadableJobInAResumeFileAffectsOnlyItself(t *testing.T) {
	for _, job := range []string{`{}`, `{"job_id":"x"}`, `{"job_id":4294967296}`, `null`} {
		ids, err := ResumedJobs([]byte(`{"all_nodes":"f0","jobs":[{"job_id":1},` + job + `,{"job_id":3}]}`))
		require.EqualError(t, err, "resume file: job 2 of 3 lacks a job_id", job)
		assert.Equal(t, []uint32{1, 3}, ids, job)
	}
}
