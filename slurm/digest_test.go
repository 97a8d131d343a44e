package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDigestChangesOnlyWithWhatAJobRequests(t *testing.T) {
	job := Job{ID: 7, State: JobPending, NodeCount: 3, CPUs: 3, NodeCPUs: 1, Memory: "500M", Gres: "gres:gpu:h100:8", Features: "a&b", Partition: "x,y"}
	for name, test := range map[string]struct {
		change func(j *Job)
		same   bool
	}{
		"nothing":           {func(*Job) {}, true},
		"Slurm is upgraded": {func(j *Job) { j.Gres = "gres/gpu:h100:8" }, true},
		"fewer nodes":       {func(j *Job) { j.NodeCount = 2; j.CPUs = 2 }, false},
		"it is requeued":    {func(j *Job) { j.Partition, j.Reason, j.Reservation = "y,x", BeginTime, "" }, true},
		"features":          {func(j *Job) { j.Features = "a" }, false},
		"GRES":              {func(j *Job) { j.Gres = "gres:gpu:h100:4" }, false},
		"CPUs in all":       {func(j *Job) { j.CPUs = 6 }, false},
		"CPUs of each node": {func(j *Job) { j.NodeCPUs = 4 }, false},
		"memory":            {func(j *Job) { j.Memory = "501M" }, false},
	} {
		changed := job
		test.change(&changed)
		assert.Equal(t, test.same, changed.Digest() == job.Digest(), name)
	}
	assert.Regexp(t, "^[0-9a-f]{8}$", job.Digest())
}
