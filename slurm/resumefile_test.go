package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseResumeFile(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       ResumeFile
	}{
		{
			"22.05 says only which nodes to resume", `{"jobs":[{"job_id":1,"nodes":"f[0-1]"}],"all_nodes":"f[0-1]"}`,
			ResumeFile{Nodes: []string{"f0", "f1"}, Jobs: []ResumeJob{{ID: 1, Nodes: []string{"f0", "f1"}}}},
		},
		{
			"later versions say which nodes the job has, too",
			`{"jobs":[{"extra":null,"job_id":1,"nodes_alloc":"f[0-3]","nodes_resume":"f[2-3]","partition":"flex","reservation":null}],"all_nodes_resume":"f[2-3]"}`,
			ResumeFile{Nodes: []string{"f2", "f3"}, Jobs: []ResumeJob{{
				ID: 1, Partition: "flex", Nodes: []string{"f2", "f3"}, Allocated: []string{"f0", "f1", "f2", "f3"},
			}}},
		},
		{
			"nodes that another call resumes are not this call's",
			`{"jobs":[{"job_id":1,"nodes_resume":"f[0-3]"},{"job_id":2,"nodes_resume":"f9"}],"all_nodes_resume":"f[2-3]"}`,
			ResumeFile{Nodes: []string{"f2", "f3"}, Jobs: []ResumeJob{{ID: 1, Nodes: []string{"f2", "f3"}}, {ID: 2}}},
		},
		{
			"nodes powered up by hand have no job", `{"jobs":[],"all_nodes_resume":"s0"}`,
			ResumeFile{Nodes: []string{"s0"}},
		},
		{
			"fields it does not know and null are passed over", `{"jobs":null,"later":{"a":[1]},"all_nodes":null,"all_nodes_resume":"s0"}`,
			ResumeFile{Nodes: []string{"s0"}},
		},
		{
			"null in a job is nothing", `{"jobs":[{"job_id":1,"partition":null,"nodes_alloc":null,"nodes_resume":null}],"all_nodes_resume":"s0"}`,
			ResumeFile{Nodes: []string{"s0"}, Jobs: []ResumeJob{{ID: 1}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := ParseResumeFile([]byte(test.file))
			require.NoError(t, err)
			require.Equal(t, test.want, file)
		})
	}
}

func TestParseResumeFileRefuses(t *testing.T) {
	for _, test := range []struct {
		name, file, want string
	}{
		{"an empty file", "", "resume file: empty"},
		{"a file cut off", `{"jobs":[],"all_no`, "resume file: unexpected end of JSON input"},
		{"text behind the object", `{"all_nodes":"f0"}x`, "resume file: invalid character 'x' after top-level value"},
		{"a list", `[]`, "resume file: the whole is of type array"},
		{"null", `null`, "resume file: neither all_nodes_resume nor all_nodes"},
		{"an object without nodes", `{"jobs":[]}`, "resume file: neither all_nodes_resume nor all_nodes"},
		{"no nodes", `{"all_nodes":""}`, "resume file: no nodes to resume"},
		{"malformed nodes", `{"all_nodes":"f["}`, `resume file: nodes: hostlist "f[": a number is missing at character 3`},
		{"a job without an id", `{"all_nodes":"f0","jobs":[{"job_id":1},{}]}`, "resume file: job 2 of 2 has no job_id"},
		{"an id that is no number", `{"all_nodes":"f0","jobs":[{"job_id":"x"}]}`, "resume file: jobs.job_id is of type string"},
		{"malformed nodes of a job", `{"all_nodes":"f0","jobs":[{"job_id":1,"nodes":"f["}]}`, `resume file: job 1: nodes: hostlist "f[": a number is missing at character 3`},
		{"malformed allocated nodes", `{"all_nodes":"f0","jobs":[{"job_id":1,"nodes_alloc":"f["}]}`, `resume file: job 1: allocated nodes: hostlist "f[": a number is missing at character 3`},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := ParseResumeFile([]byte(test.file))
			require.ErrorContains(t, err, test.want)
			require.Zero(t, file)
		})
	}
}

func FuzzParseResumeFile(f *testing.F) {
	for _, version := range versions(f) {
		f.Add(fixture(f, version, "resumefile-0.json"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := ParseResumeFile(b)
		if err != nil {
			require.Zero(t, file)
			return
		}
		require.NotEmpty(t, file.Nodes)
		for _, job := range file.Jobs {
			require.NotZero(t, job.ID)
			require.Subset(t, file.Nodes, job.Nodes)
		}
	})
}

func TestTheJobsOfAResumeFileAreReadAlone(t *testing.T) {
	ids, err := ResumedJobs([]byte(`{"jobs":[{"job_id":7,"nodes_resume":"f[0-1]"},{"job_id":8,"nodes_resume":"not[a"}],"all_nodes_resume":"f[0-1]"}`))
	require.NoError(t, err)
	assert.Equal(t, []uint32{7, 8}, ids, "whatever their nodes are")
	ids, err = ResumedJobs([]byte(`{"jobs":[],"all_nodes":"f0"}`))
	require.NoError(t, err)
	assert.Empty(t, ids, "somebody powered it up by hand")
	for text, says := range map[string]string{
		"":                        "resume file: empty",
		`{"jobs":[{"job_id":7}`:   "resume file: unexpected end of JSON input",
		`{"jobs":[{"job_id":7}]}`: "resume file: neither all_nodes_resume nor all_nodes",
		`{"jobs":[{"job_id":7},{}],"all_nodes":"f0"}`: "resume file: job 2 of 2 has no job_id",
	} {
		_, err := ResumedJobs([]byte(text))
		assert.ErrorContains(t, err, says, text)
	}
}
