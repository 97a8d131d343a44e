package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

// A11: the value disabled came with 24.05, and no older slurmd starts with it.
func TestCgroupsAreSwitchedOffWhereSlurmKnowsTheWord(t *testing.T) {
	for version, want := range map[slurm.Version]string{
		{Major: 22, Minor: 5}: "", {Major: 23, Minor: 2}: "", {Major: 23, Minor: 11, Patch: 11}: "",
		{Major: 24, Minor: 5}: "CgroupPlugin=disabled\n", {Major: 24, Minor: 11}: "CgroupPlugin=disabled\n", {Major: 26, Minor: 5}: "CgroupPlugin=disabled\n",
	} {
		assert.Equal(t, want, cgroupConf(version), version)
	}
}
