package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/config"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

const configText = `slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/small
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a, us-central1-b]
    dws_flex: {use_job_duration: true}
slurmflex:
  compute_endpoint: http://compute.test
`

// called is one run of the command.
type called struct {
	stdout, stderr string
	err            error
}

// call runs the command with a configuration, and with Compute at the other end of the wire.
func (w *world) call(config string, args ...string) (c called) {
	w.Helper()
	file := filepath.Join(w.TempDir(), "config.yaml")
	require.NoError(w, os.WriteFile(file, []byte(config), 0o600))
	cmd, stdout, stderr := New(w.wire), &strings.Builder{}, &strings.Builder{}
	cmd.SetArgs(append([]string{"--config", file}, args...))
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(w.Context())
	synctest.Wait()
	return called{stdout.String(), stderr.String(), err}
}

func TestTrialReportsEachCheckAndRecordsItsCalls(t *testing.T) {
	record := filepath.Join(t.TempDir(), "trial.jsonl")
	inWorld(t, func(w *world) {
		c := w.call(configText, "--nodeset", "a3", "--yes", "--record", record)
		require.NoError(w, c.err, c.stdout)
		assert.Regexp(w, `^Nodeset a3: project demo, region us-central1, zones us-central1-a, us-central1-b. All names start with alpha-trial--[a-z]{5}.
At most 1860 machine seconds of g2-standard-4: 4 requests of 1 machine, 2 of which should bring none.
passed   role        may read templates: compute.instanceTemplates.get
`, c.stdout)
		assert.Regexp(w, `\ntrial: \d+ checks passed, 0 failed; left behind: nothing\n$`, c.stdout)
	})
	info, err := os.Stat(record)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text := must.Text(record)
	assert.Regexp(t, `^\{"transcript":1,.*"machine_type":"g2-standard-4"\}\n`, text)
	assert.Greater(t, strings.Count(text, "\n"), 50)
}

func TestFailedCheckFailsATrial(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fault(fakegce.Fault{Method: "zones.get", Status: 403, Message: "Required 'compute.zones.get' permission"})
		c := w.call(configText, "--nodeset", "a3", "--yes")
		require.EqualError(w, c.err, "a check failed, or the trial left something behind")
		assert.False(w, config.IsMisuse(c.err))
		assert.Contains(w, c.stdout, `failed   role        may read zones: compute.zones.get: expected "allowed", saw "refused: permission" `+
			"(read zone us-central1-a: 403 forbidden: Required 'compute.zones.get' permission)\n")
		assert.Contains(w, c.stdout, " checks passed, 1 failed; left behind: nothing\n")
	})
}

func TestDryRunPrintsTheStepsAndChangesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.cloud.ResetCalls()
		dry := w.call(configText, "--nodeset", "a3", "--dry-run")
		require.NoError(w, dry.err)
		assert.Regexp(w, `\ncreate group alpha-trial--[a-z]{5}-g, sent twice\ncreate it again\n`, dry.stdout)
		for _, call := range w.cloud.Calls() {
			assert.Equal(w, "GET", call.Verb, call.Path)
		}
	})
}

func TestTrialCreatesNothingWithoutConfirmation(t *testing.T) {
	for name, args := range map[string][]string{
		"not confirmed; nothing was created (--yes skips the question)":   {"--nodeset", "a3"},
		`--nodeset: unknown flex-start nodeset "nope"; choose one of: a3`: {"--nodeset", "nope", "--yes"},
		`--nodeset: unknown flex-start nodeset ""; choose one of: a3`:     {"--dry-run"},
		"--wait 0s: must be more than 0 and at most 45m, such as 5m":      {"--nodeset", "a3", "--wait", "0s", "--yes"},
		"--wait 1h0m0s: must be more than 0 and at most 45m":              {"--nodeset", "a3", "--wait", "1h", "--yes"},
		"provisioningModel is STANDARD; make a template with FLEX_START": {
			"--nodeset", "a3", "--yes", "--template", "projects/demo/regions/us-central1/instanceTemplates/standard",
		},
		"must be global or in the nodeset's region us-central1": {
			"--nodeset", "a3", "--yes", "--template", "projects/demo/regions/europe-west4/instanceTemplates/a3",
		},
		"--record: open /nowhere/trial.jsonl":           {"--nodeset", "a3", "--yes", "--record", "/nowhere/trial.jsonl"},
		"--dry-run and --record are mutually exclusive": {"--nodeset", "a3", "--dry-run", "--record", "trial.jsonl"},
		`unknown command "a3" for "slurmflex-trial"`:    {"a3"},
		"unknown flag: --nodesets; see --help":          {"--nodesets", "a3"},
		"no such file":                                  {"--config", "/nowhere/config.yaml", "--nodeset", "a3"},
	} {
		inWorld(t, func(w *world) {
			spec := fakegce.FlexTemplate("standard", "g2-standard-4")
			spec.Properties.Scheduling = &compute.Scheduling{ProvisioningModel: "STANDARD"}
			must.Get(w.cloud.AddTemplate("us-central1", spec))
			must.Get(w.cloud.AddTemplate("europe-west4", fakegce.FlexTemplate("a3", "a3-highgpu-8g")))
			w.fault(fakegce.Fault{Method: "*.insert", Status: 500})
			c := w.call(configText, args...)
			require.ErrorContains(w, c.err, name)
			assert.True(w, config.IsMisuse(c.err), name)
		})
	}
}

// H5
func TestTrialThatCannotStartIsAUsageError(t *testing.T) {
	inWorld(t, func(w *world) {
		key := filepath.Join(w.TempDir(), "key.json")
		require.NoError(w, os.WriteFile(key, []byte("no key\n"), 0o600))
		c := w.call(configText+"google_app_cred_path: "+key+"\n", "--nodeset", "a3", "--yes")
		require.ErrorContains(w, c.err, "credentials")
		assert.True(w, config.IsMisuse(c.err))

		w.fault(fakegce.Fault{Method: "regionInstanceTemplates.get", Status: 403, Message: "Required 'compute.instanceTemplates.get' permission"})
		c = w.call(configText, "--nodeset", "a3", "--yes")
		require.ErrorContains(w, c.err, "compute.instanceTemplates.get")
		assert.True(w, config.IsMisuse(c.err))
	})
}

func TestTrialHelpListsCreatedResources(t *testing.T) {
	for _, created := range []string{"instance group", "workload policy", "resize requests"} {
		assert.Contains(t, New(nil).Long, created)
	}
}

func TestTrialRejectsBulkInsertNodesets(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.call(strings.Replace(configText, "use_job_duration", "use_bulk_insert: true, use_job_duration", 1), "--nodeset", "a3", "--yes")
		require.ErrorContains(w, c.err, "nodeset a3 uses bulk insertion, which makes no groups; choose another nodeset")
	})
}

func TestOnlyYesConfirms(t *testing.T) {
	for answer, yes := range map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		c, out := New(nil), &strings.Builder{}
		c.SetContext(t.Context())
		c.SetIn(strings.NewReader(answer))
		c.SetOut(out)
		assert.Equal(t, yes, confirm(c) == nil, "%q", answer)
		assert.Equal(t, "Proceed? [y/N] ", out.String())
	}
}

// D4
func TestKilledTrialIsNamedWithCommands(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, w.createGroup(w.Context()))
		require.NoError(w, w.trial.cloud.CreatePolicy(w.Context(), w.spec.policySpec()))
		foreign := w.spec
		foreign.cluster = "alpha-trial"
		require.NoError(w, w.trial.cloud.CreateGroup(w.Context(), foreign.groupSpec()))
		c := w.call(configText, "--nodeset", "a3", "--dry-run")
		require.NoError(w, c.err)
		assert.Equal(w, `alpha-trial--kxqzv-g is of another trial of the cluster; if that was killed, run: gcloud compute instance-groups managed delete alpha-trial--kxqzv-g --project=demo --region=us-central1
alpha-trial--kxqzv-p is of another trial of the cluster; if that was killed, run: gcloud compute resource-policies delete alpha-trial--kxqzv-p --project=demo --region=us-central1
`, c.stderr)

		w.fault(fakegce.Fault{Method: "*GroupManagers.list", Status: 403, Message: "Required permission"})
		assert.Contains(w, w.call(configText, "--nodeset", "a3", "--dry-run").stderr, "other trials in us-central1 are unknown: list groups of us-central1: 403")
	})
}
