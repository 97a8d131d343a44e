package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// DIR stands for a world's folder.
func TestUsageErrorIsOneLineThatNamesTheFix(t *testing.T) {
	w := newWorld(t)
	w.write("bad.yaml", "currency: USD\nmachines: {a3: {flex: cheap}}\n")
	for call, says := range map[string]string{
		"snyc":                     `slurmflex has no command "snyc"; did you mean sync? See slurmflex --help`,
		"snyc --help":              `slurmflex has no command "snyc"; did you mean sync? See slurmflex --help`, // C17
		"config chekc --help":      `slurmflex config has no command "chekc"; did you mean check?`,
		"estimate -N 4-2":          `invalid argument "4-2" for "-N, --nodes" flag; see slurmflex estimate --help`,
		"sync --forec":             "unknown flag --forec; see slurmflex sync --help",
		"resume":                   "usage: slurmflex resume HOSTLIST (for example alpha-a3-[0-3])",
		"config check config.yaml": `slurmflex config check takes no arguments, not even "config.yaml"`,
		"--log-level loud plan":    `unknown --log-level "loud"; choose one of: debug, info, warn, error`,

		"cost --prices DIR/bad.yaml": `bad.yaml: line 2: flex of a3: "cheap" is not an amount`,

		"estimate": "usage: slurmflex estimate JOB, or slurmflex estimate -p PARTITION -N NODES",

		"status -o narrow":         `unknown --output "narrow"; choose one of: wide`,
		"status -o wide --json":    "--json and --output are mutually exclusive",
		"status --me --user grace": "--me and --user are mutually exclusive",

		"down --drain --now":           "--drain and --now are mutually exclusive",
		"block a4":                     `unknown flex-start nodeset "a4"; choose one of: a3`,
		"block a3 --why=a\tb":          `--why "a\tb": use one line of printable characters`,
		"sync --textfile DIR/flex.txt": "/flex.txt: node_exporter reads only files with names that end in .prom",

		"config lua job_submit --rule=gpu=off": `--rule gpu=off: unknown rule "gpu"; choose one of: time, nodes, placement, gpus, requeue, no_time, comment, partitions`,
		"config lua job_submit --output=/":     "--output / is a folder; name a file in it",

		"config slurm-conf --slurm-version 24.11 --programs bin": `--programs "bin" is not an absolute path, which Slurm requires`,
		"config slurm-conf --output /dev/null":                   "--output /dev/null is not a regular file",
		"config from-slurm-gcp":                                  "usage: slurmflex config from-slurm-gcp FILE (for example /slurm/scripts/config.yaml)",
		"config from-slurm-gcp DIR/gone.yaml":                    "gone.yaml: no such file or directory",
	} {
		t.Run(call, func(t *testing.T) {
			r := w.in(t).flex(strings.Split(strings.ReplaceAll(call, "DIR", w.dir), " ")...).exits(exitUsage)
			assert.Empty(t, r.stdout.String())
			r.complains(says)
		})
	}
	w.assertUntouched()
}
