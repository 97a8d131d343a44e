package scontrol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestLimitsAreReadAfterTheJobsThatTheyConcern(t *testing.T) {
	c := newClient(t, dummy{
		Stdout: "7|7|" + markOfCall + "<ml>" + markOfCall + "|" + markOfCall + "<normal>" + markOfCall + "|" + markOfCall + "<(null)>" + markOfCall + "\n",
		Instead: map[string]dummy{
			"licenses":        {Stdout: "LicenseName=lic Total=4 Used=1 Free=3 Reserved=0 Remote=no\n"},
			"flags=assoc,qos": {Stdout: "Current Association Manager state\nQOS=normal(1) GrpJobs=4(1) Account Limits= User Limits=\n"},
		},
	})
	a, err := c.Allowances(t.Context(), true)
	require.NoError(t, err)
	assert.Equal(t, map[uint32]slurm.Charge{7: {Account: "ml", QOS: "normal"}}, a.Charges)
	assert.Len(t, a.Licenses, 1)
	assert.Len(t, a.QOS["normal"].Allowances, 1)
	all := []string{
		"squeue -h -a -t PENDING -o %A|%F|MARK<%a>MARK|MARK<%q>MARK|MARK<%W>MARK",
		"scontrol -o show licenses", "scontrol -o show assoc_mgr flags=assoc,qos",
	}
	assert.Equal(t, all, asked(t, c))
	_, err = c.Allowances(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, append(all, all[:2]...), asked(t, c))
}
