package setup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestCheckReportsTheFormerGate(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, os.WriteFile(gate, []byte("#!/bin/sh\n# slurmflex\n"), 0o755))
	own := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\n"), 0o755))
	for name, c := range map[string]struct {
		conf slurm.Config
		want []string
	}{
		"another program":   {conf: slurm.Config{"PrologSlurmctld": own}},
		"one of several":    {conf: slurm.Config{"PrologSlurmctld[0]": own, "PrologSlurmctld[1]": gate}, want: []string{gate + " no longer waits for nodes"}},
		"a missing program": {conf: slurm.Config{"PrologSlurmctld": "/nonexistent/gate"}, want: []string{"no such file or directory, so no job starts; remove this key"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := compared(t, &cloud{}, controller{config: c.conf})
			var got []string
			for _, f := range append(found.of(Fault), found.of(Advice)...) {
				if f.Key == "PrologSlurmctld" {
					got = append(got, f.problem().Error())
				}
			}
			require.Len(t, got, len(c.want))
			for i, want := range c.want {
				assert.Contains(t, got[i], want)
			}
		})
	}
}
