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
		"config chekc":             `slurmflex config has no command "chekc"; did you mean check? See slurmflex config --help`,
		"config --explain waitng":  `unknown key "waitng"; did you mean waiting?`,
		"config --explain p q":     `slurmflex config has no command "p"`,
		"sync --forec":             "unknown flag --forec; see slurmflex sync --help",
		"--confg x sync":           "unknown flag --confg; see slurmflex sync --help",
		"gc --dry-run=perhaps":     `invalid argument "perhaps"`,
		"plan --config":            "flag needs an argument: --config",
		"sync now":                 `slurmflex sync takes no arguments, not even "now"; see slurmflex sync --help`,
		"resume":                   "usage: slurmflex resume HOSTLIST (for example alpha-a3-[0-3])",
		"why":                      "usage: slurmflex why JOB|NODE|NODESET|GROUP (for example 812, 812_3,",
		"suspend a-0 a-1":          "usage: slurmflex suspend HOSTLIST (for example",
		"config check config.yaml": `slurmflex config check takes no arguments, not even "config.yaml"`,
		"completion csh":           `slurmflex completion has no command "csh"`,
		"completion bash now":      `slurmflex completion bash takes no arguments, not even "now"`,
		"--log-level loud plan":    `unknown --log-level "loud"; choose one of: debug, info, warn, error`,

		"cost --by week":                         "--by week: choose account, user",
		"cost --from noon":                       "--from noon: must be a day or a time",
		"cost --from 2026-11-02 --to 2026-11-01": "--to 2026-11-01 is not after --from 2026-11-02",
		"cost --prices /none":                    "read prices: open /none",
		"cost --prices DIR/bad.yaml":             `bad.yaml: line 2: flex of a3: "cheap" is not an amount`,
		"cost --month november":                  "--month november: must be a month, such as 2026-11",
		"cost --month 2026-11 --from 2026-11-01": "--month cannot be combined with --from or --to",

		"estimate":                "usage: slurmflex estimate JOB, or slurmflex estimate -p PARTITION -N NODES",
		"estimate 812 -p train":   "usage: slurmflex estimate JOB, or slurmflex",
		"estimate -p night":       `partition "night" has no flex-start nodes; choose`,
		"estimate -p train -N 9":  "--nodes 9: partition train has nodesets of up to 8",
		"estimate -p train -N 0":  "--nodes 0: partition train has nodesets of up to 8",
		"estimate -p train,night": `partition "night" has no flex-start nodes`,

		"status --nodeset a4":       `unknown flex-start nodeset "a4"; choose one of: a3`,
		"status --partition cpu":    `unknown flex-start partition "cpu"; choose one of: train`,
		"status -o narrow":          `unknown --output "narrow"; choose one of: wide`,
		"status -o wide --json":     "--json and --output are mutually exclusive",
		"status --me --user grace":  "--me and --user are mutually exclusive",
		"status --nodeset a3 extra": `slurmflex status takes no arguments, not even "extra"`,

		"down --drain --now":           "--drain and --now are mutually exclusive",
		"gc --dry-run --textfile x":    "--dry-run and --textfile are mutually exclusive",
		"block a4":                     `unknown flex-start nodeset "a4"; choose one of: a3`,
		"block":                        "usage: slurmflex block NODESET (for example a3)",
		"block a3 --until soon":        "--until soon: must be a day or a time, such as 2026-11-01",
		"block a3 --until 2026-11-01":  "--until 2026-11-01 is over; name a time in the future",
		"block a3 --why=a\tb":          `--why "a\tb": use one line of printable characters`,
		"unblock a4":                   `unknown flex-start nodeset "a4"; choose one of: a3`,
		"down --nodeset b3 --dry-run":  `unknown flex-start nodeset "b3"; choose one of: a3`,
		"sync --textfile DIR/flex.txt": "/flex.txt: node_exporter reads only files with names that end in .prom",
		"gc --textfile DIR/flex.txt":   "/flex.txt: node_exporter reads only files with names that end in .prom",

		"config lua job_submit --rule=gpu=off":      `--rule gpu=off: unknown rule "gpu"; choose one of: time, nodes, placement, gpus, requeue, no_time, partitions`,
		"config lua job_submit --rule=gpus=never":   "--rule gpus=never: choose one of: refuse, warn, off",
		"config lua job_submit --machine=a4=a4-1":   `config.yaml has no flex-start nodeset "a4"`,
		"config lua job_submit --output=/":          "--output / is a folder; name a file in it",
		"config lua job_submit --output=/nowhere/x": "folder /nowhere does not exist; create it first",

		"config slurm-conf --slurm-version 24.11 --machine a4=a4-1": `config.yaml has no flex-start nodeset "a4"`,
		"config slurm-conf --slurm-version 24.11 --programs bin":    `--programs "bin" is not an absolute path, which Slurm requires`,
		"config slurm-conf --slurm-version 21.08":                   "Slurm 21.08.0 is older than 22.05, the oldest that slurmflex works with; set the version that you upgrade to with --slurm-version",
		"config slurm-conf --slurm-version new":                     `--slurm-version: version "new": not like`,
		"config slurm-conf --output /dev/null":                      "--output /dev/null is not a regular file",
		"config from-slurm-gcp":                                     "usage: slurmflex config from-slurm-gcp FILE (for example /slurm/scripts/config.yaml)",
		"config from-slurm-gcp DIR/gone.yaml":                       "gone.yaml: no such file or directory",
	} {
		t.Run(call, func(t *testing.T) {
			r := w.in(t).flex(strings.Split(strings.ReplaceAll(call, "DIR", w.dir), " ")...).exits(exitUsage)
			assert.Empty(t, r.stdout.String())
			r.complains(says)
		})
	}
	w.assertUntouched()
}
