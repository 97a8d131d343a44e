package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJobSurelyFitsNodesThatHaveWhatItRequests(t *testing.T) {
	node := Node{Name: "f0", Features: []string{"h100", "rack1"}, Gres: "gpu:h100:8(S:0-1),nic:2", CPUs: 208, Memory: 1_800_000}
	for name, test := range map[string]struct {
		job  Job
		fits bool
	}{
		"nothing":                     {Job{}, true},
		"both features":               {Job{Features: "h100&rack1"}, true},
		"another feature":             {Job{Features: "l4"}, false},
		"one of two features":         {Job{Features: "h100 l4"}, true},
		"alike on all nodes":          {Job{Features: "[h100 l4]"}, false},
		"one GPU":                     {Job{Gres: "gres/gpu"}, true},
		"typed GPUs as 22.05 shows":   {Job{Gres: "gres:gpu:h100:8"}, true},
		"GPUs and another GRES":       {Job{Gres: "gres/gpu:8,gres/nic:2"}, true},
		"GPUs of another type":        {Job{Gres: "gres/gpu:l4:1"}, false},
		"more GPUs":                   {Job{Gres: "gres/gpu:16"}, false},
		"another GRES":                {Job{Gres: "gres/fpga:1"}, false},
		"GRES in another form":        {Job{Gres: "gres/gpu:a:b:1"}, false},
		"a node by name":              {Job{Needs: []string{"f0"}}, false},
		"not that node":               {Job{Excludes: []string{"f0"}}, false},
		"not another node":            {Job{Excludes: []string{"f1"}}, true},
		"more CPUs":                   {Job{CPUs: 209}, false},
		"more CPUs of each node":      {Job{NodeCPUs: 209}, false},
		"as many CPUs on two nodes":   {Job{NodeCount: 2, CPUs: 416}, true},
		"memory of each CPU":          {Job{CPUs: 208, Memory: "8000Mc"}, true},
		"more memory":                 {Job{Memory: "2T"}, false},
		"more memory of each CPU":     {Job{CPUs: 208, Memory: "9Gc"}, false},
		"memory that is not readable": {Job{Memory: "lots"}, false},
	} {
		if test.job.NodeCount == 0 {
			test.job.NodeCount = 1
		}
		assert.Equal(t, test.fits, test.job.SurelyFits(node), name)
	}
	assert.False(t, Job{}.SurelyFits(node), "unknown number of nodes")
	assert.True(t, Job{NodeCount: 1, CPUs: 1}.SurelyFits(Node{}), "a node with unknown CPUs has one")
}
