package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestTheGateIsCheckedWhereSlurmConfNamesIt(t *testing.T) {
	dir := t.TempDir()
	program := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	gate := program("gate", "#!/bin/sh\n# slurmflex\n", 0o755)
	own := program("prolog", "#!/bin/sh\n", 0o755)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "shut"), 0o755))
	dir = filepath.Join(dir, "shut")
	shut := program("gate", "#!/bin/sh\n# slurmflex\n", 0o644)

	for name, c := range map[string]struct {
		conf    slurm.Config
		version string
		gates   int
		want    []string // findings about it
	}{
		"not at all":                        {version: "22.05.8", gates: 40, conf: slurm.Config{"PrologEpilogTimeout": "60"}},
		"another program":                   {version: "22.05.8", gates: 40, conf: slurm.Config{"PrologSlurmctld": own, "PrologEpilogTimeout": "60"}},
		"as it should":                      {version: "22.05.8", gates: 10, conf: slurm.Config{"PrologSlurmctld": gate, "PrologEpilogTimeout": "65534"}},
		"as one of several, on newer Slurm": {version: "26.05.5", gates: 40, conf: slurm.Config{"PrologSlurmctld[0]": own, "PrologSlurmctld[1]": gate}},
		"with more than slurmctld can stop with": {
			version: "23.11.4", gates: 11, conf: slurm.Config{"PrologSlurmctld": gate},
			want: []string{"c.yaml:21: slurmflex.max_gates: slurmctld 23.11.4 may never stop while 11 gates wait; set this to at most 10"},
		},
		"with a time limit": {
			version: "24.11.5", gates: 10, conf: slurm.Config{"PrologSlurmctld": gate, "PrologEpilogTimeout": "60"},
			want: []string{"/nonexistent/slurm.conf: PrologEpilogTimeout: after 60 s Slurm ends the gate of a job that waits for its nodes, and requeues the job; remove this or the gate"},
		},
		"that is not there": {
			version: "24.11.5", gates: 10, conf: slurm.Config{"PrologSlurmctld": "/nonexistent/gate"},
			want: []string{"/nonexistent/slurm.conf: PrologSlurmctld: Slurm cannot call /nonexistent/gate: stat /nonexistent/gate: no such file or directory, so no job starts; " +
				"set PrologSlurmctld=/usr/libexec/slurmflex/gate or remove it, and restart slurmctld"},
		},
		"that is not executable": {
			version: "24.11.5", gates: 10, conf: slurm.Config{"PrologSlurmctld": shut},
			want: []string{"/nonexistent/slurm.conf: PrologSlurmctld: Slurm cannot call " + shut + ": it is not executable, so no job starts; " +
				"set PrologSlurmctld=/usr/libexec/slurmflex/gate or remove it, and restart slurmctld"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := changed(t, "project", "project")
			cfg.Options.MaxGates = c.gates
			found := Compare(cfg, Observe(t.Context(), cfg, controller{config: c.conf, version: c.version}, &cloud{}, time.Now))
			var got []string
			for _, f := range found.Of(Fault) {
				if strings.Contains(f.Key, "Prolog") || strings.Contains(f.Key, "gates") {
					got = append(got, f.String())
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}
