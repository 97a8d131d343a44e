package scontrol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestLimitsAreReadAfterThePendingJobs(t *testing.T) {
	c := newClient(t, dummy{
		Stdout: "7|" + markOfCall + "<" + strings.Join([]string{"ml", "normal", "(null)", "7", "0:00", "0", "0", "N/A", "N/A", "N/A", "N/A", "N/A", "0", "*:*:*"}, ">"+markOfCall+"|"+markOfCall+"<") + ">" + markOfCall + "\n",
		Instead: map[string]dummy{
			"licenses":        {Stdout: "LicenseName=lic Total=4 Used=1 Free=3 Reserved=0 Remote=no\n"},
			"flags=assoc,qos": {Stdout: "Current Association Manager state\nQOS=normal(1) GrpJobs=4(1) Account Limits= User Limits=\n"},
		},
	})
	a, err := c.Allowances(t.Context(), []string{"associations", "limits", "safe"})
	require.NoError(t, err)
	assert.Equal(t, map[uint32]slurm.Charge{7: {Account: "ml", QOS: "normal"}}, a.Charges)
	assert.Len(t, a.Licenses, 1)
	assert.Len(t, a.QOS["normal"].Allowances, 1)
	calls := []string{"squeue -a -t PENDING", "scontrol -o show licenses", "scontrol -o show assoc_mgr flags=assoc,qos"}
	_, err = c.Allowances(t.Context(), nil)
	require.NoError(t, err)
	got := asked(t, c)
	for i, want := range append(calls, calls[:2]...) {
		require.Less(t, i, len(got))
		assert.True(t, strings.HasPrefix(got[i], want), "%s, not %s", got[i], want)
	}
	assert.Len(t, got, 5)
}
