package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResumeFileListsItsJobs(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []uint32
	}{
		{"as 22.05 writes it", `{"jobs":[{"job_id":1,"nodes":"f[0-1]"}],"all_nodes":"f[0-1]"}`, []uint32{1}},
		{
			"as later versions do",
			`{"jobs":[{"extra":null,"job_id":7,"nodes_alloc":"f[0-3]","nodes_resume":"f[2-3]","partition":"flex","reservation":null},` +
				`{"job_id":8,"nodes_resume":"f9"}],"all_nodes_resume":"f[2-3]"}`,
			[]uint32{7, 8},
		},
		{"nodes powered up by hand have no jobs", `{"jobs":[],"all_nodes_resume":"s0"}`, nil},
		{"fields it does not know and null are passed over", `{"jobs":null,"later":{"a":[1]},"all_nodes":null,"all_nodes_resume":"s0"}`, nil},
		{"null in a job is skipped", `{"jobs":[{"job_id":1,"partition":null,"nodes_resume":null}],"all_nodes_resume":"s0"}`, []uint32{1}},
		{"whatever their nodes are", `{"jobs":[{"job_id":8,"nodes_resume":"not[a"}],"all_nodes_resume":"not[a"}`, []uint32{8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ids, err := ResumedJobs([]byte(test.file))
			require.NoError(t, err)
			assert.Equal(t, test.want, ids)
		})
	}
}

func TestUnusableResumeFileIsRefused(t *testing.T) {
	for _, test := range []struct {
		name, file, want string
	}{
		{"an empty file", "", "resume file: empty"},
		{"a file cut off", `{"jobs":[],"all_no`, "resume file: unexpected end of JSON input"},
		{"text behind the object", `{"all_nodes":"f0"}x`, "resume file: invalid character 'x' after top-level value"},
		{"a list", `[]`, "resume file: the whole is of type array"},
		{"null", `null`, "resume file: neither all_nodes_resume nor all_nodes"},
		{"an object without nodes", `{"jobs":[{"job_id":1}]}`, "resume file: neither all_nodes_resume nor all_nodes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ids, err := ResumedJobs([]byte(test.file))
			require.EqualError(t, err, test.want)
			assert.Empty(t, ids)
		})
	}
}

// A1
func TestUnreadableJobInAResumeFileAffectsOnlyItself(t *testing.T) {
	for _, job := range []string{`{}`, `{"job_id":"x"}`, `{"job_id":-1}`, `{"job_id":4294967296}`, `null`, `7`} {
		ids, err := ResumedJobs([]byte(`{"all_nodes":"f0","jobs":[{"job_id":1},` + job + `,{"job_id":3}]}`))
		require.EqualError(t, err, "resume file: job 2 of 3 lacks a job_id", job)
		assert.Equal(t, []uint32{1, 3}, ids, job)
	}
}
