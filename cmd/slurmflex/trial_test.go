package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/flex/trial/transcript"
	"slurmflex/test/fakegce"
)

// tried runs slurmflex trial in fake time, on a project where machines take their usual time.
func (w *world) tried(t *testing.T, prepare func(*fakegce.Server), args ...string) (stdout, stderr string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cloud := fakegce.New(fakegce.Options{OperationTime: time.Second, QueueTime: 3 * time.Second, BootTime: 10 * time.Second, DeleteTime: 5 * time.Second})
		_, addErr := cloud.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
		require.NoError(t, addErr)
		prepare(cloud)
		stdout, stderr, err = w.inside(t, cloud.Transport().RoundTrip, append([]string{"trial", "--nodeset", "a3"}, args...)...)
		time.Sleep(time.Minute)
		assert.Empty(t, cloud.State().Groups)
		assert.Empty(t, cloud.State().Instances)
		assert.Empty(t, cloud.State().Policies)
	})
	return stdout, stderr, err
}

func asExpected(*fakegce.Server) {}

func TestTrialReportsEachCheckAndRecordsItsCalls(t *testing.T) {
	w := newWorld(t)
	out, _, err := w.tried(t, asExpected, "--yes", "--record", w.path("trial.jsonl"))
	require.NoError(t, err, out)
	assert.Regexp(t, `^Nodeset a3: project demo, region us-central1, zones us-central1-a, us-central1-b. All names start with alpha-trial-[a-z]{5}.
At most 1860 machine seconds of a3-highgpu-8g: 4 requests of 1 machine, 2 of which should bring none.
passed   role        may read templates: compute.instanceTemplates.get
`, out)
	assert.Regexp(t, `\nused: \d+ machine seconds \(machines: 2\)\ntrial: \d+ checks passed, 0 failed; left behind: nothing\n$`, out)

	info, err := os.Stat(w.path("trial.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	file, err := os.Open(w.path("trial.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	header, exchanges, err := transcript.Read(file)
	require.NoError(t, err)
	assert.Equal(t, "a3-highgpu-8g", header.Machine)
	assert.Greater(t, len(exchanges), 50)
}

func TestTrialWithAFailedCheckFails(t *testing.T) {
	w := newWorld(t)
	out, _, err := w.tried(t, func(cloud *fakegce.Server) {
		require.NoError(t, cloud.AddFault(fakegce.Fault{Method: "zones.get", Status: 403, Message: "Required 'compute.zones.get' permission"}))
	}, "--yes")
	require.Error(t, err)
	assert.Equal(t, exitFailed, exitCode(err))
	assert.Contains(t, out, `failed   role        may read zones: compute.zones.get: expected "allowed", saw "refused: permission" `+
		"(read zone us-central1-a: 403 forbidden: Required 'compute.zones.get' permission)\n")
	assert.Contains(t, out, " checks passed, 1 failed; left behind: nothing\n")
}

func TestTrialCanListItsCallsWithoutMakingThem(t *testing.T) {
	w := newWorld(t)
	out, _, err := w.tried(t, func(cloud *fakegce.Server) { assert.Empty(t, cloud.Calls()) }, "--dry-run")
	require.NoError(t, err)
	assert.Regexp(t, `\nPOST   projects/demo/regions/us-central1/instanceGroupManagers  alpha-trial-[a-z]{5}-g: empty, from \S+/a3, in us-central1-a, us-central1-b\n`, out)
	assert.Regexp(t, `\nDELETE projects/demo/regions/us-central1/instanceGroupManagers/alpha-trial-[a-z]{5}-g\n$`, out)
}

func TestTrialCreatesNothingWithoutConfirmation(t *testing.T) {
	w := newWorld(t)
	for name, args := range map[string][]string{
		"not confirmed; nothing was created (--yes skips the question)": nil,
		`unknown flex-start nodeset "nope"; choose one of: a3`:          {"--nodeset", "nope", "--yes"},
		"--wait 0s: must be more than 0 and at most 45m, such as 5m":    {"--wait", "0s", "--yes"},
		"--wait 1h0m0s: must be more than 0 and at most 45m":            {"--wait", "1h", "--yes"},
		"provisioningModel is STANDARD; make a template with FLEX_START": {
			"--yes", "--template", "projects/demo/regions/us-central1/instanceTemplates/standard",
		},
		"must be global or in the nodeset's region us-central1": {
			"--yes", "--template", "projects/demo/regions/europe-west4/instanceTemplates/a3",
		},
		"--record: open /nowhere/trial.jsonl": {"--yes", "--record", "/nowhere/trial.jsonl"},
	} {
		_, _, err := w.tried(t, func(cloud *fakegce.Server) {
			spec := fakegce.FlexTemplate("standard", "g2-standard-4")
			spec.Properties.Scheduling = &compute.Scheduling{ProvisioningModel: "STANDARD"}
			_, err := cloud.AddTemplate("us-central1", spec)
			require.NoError(t, err)
			_, err = cloud.AddTemplate("europe-west4", fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
			require.NoError(t, err)
			require.NoError(t, cloud.AddFault(fakegce.Fault{Method: "*.insert", Status: 500}))
		}, args...)
		require.ErrorContains(t, err, name)
		assert.Equal(t, exitUsage, exitCode(err), name)
	}
}

// H5
func TestTrialThatCannotStartIsAUsageError(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.tried(t, func(cloud *fakegce.Server) {
		require.NoError(t, cloud.AddFault(fakegce.Fault{Method: "regionInstanceTemplates.get", Status: 403, Message: "Required 'compute.instanceTemplates.get' permission"}))
	}, "--yes")
	require.ErrorContains(t, err, "compute.instanceTemplates.get")
	assert.Equal(t, exitUsage, exitCode(err))

	w.write(t, "key.json", "no key\n")
	require.NoError(t, os.Chmod(w.path("key.json"), 0o600))
	w.configure(t, "  compute_endpoint: ", "  credentials_file: "+w.path("key.json")+" #")
	_, _, err = w.tried(t, asExpected, "--yes")
	require.ErrorContains(t, err, "credentials")
	assert.Equal(t, exitUsage, exitCode(err))
}

func TestTrialHelpListsCreatedResources(t *testing.T) {
	for _, created := range []string{"instance group", "workload policy", "resize requests"} {
		assert.Contains(t, newTrial(&app{}).Long, created)
	}
}

func TestTrialRejectsBulkInsertNodesets(t *testing.T) {
	w := newWorld(t)
	w.configure(t, "dws_flex: {use_job_duration: true}", "dws_flex: {use_job_duration: true, use_bulk_insert: true}")
	_, _, err := w.tried(t, asExpected, "--yes")
	require.ErrorContains(t, err, "nodeset a3 uses bulk insertion, which makes no groups; choose another nodeset")
}
