package setup

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

// beta is the Slurm of a cluster beta.
type beta struct{ installed }

func (beta) Config(context.Context) (slurm.Config, error) {
	return slurm.Config{"ClusterName": "beta"}, nil
}

// begun returns an init whose flags have answered every question, and a description of its machines.
func begun(t *testing.T, err error) (*Init, describer) {
	t.Helper()
	dir := t.TempDir()
	i := &Init{
		answers: answers{Project: "my-project", Region: "us-central1", Partition: "train", Machine: "a3-megagpu-8g", Time: "4:00:00", Nodes: 2},
		Path:    filepath.Join(dir, "config.yaml"), FlexConf: filepath.Join(dir, "flex.conf"),
	}
	return i, func(_ context.Context, _ *config.Config, given map[string]string) map[string]Machine {
		assert.Equal(t, map[string]string{"a3": "a3-megagpu-8g"}, given)
		m, known := mig.KnownMachine("a3-megagpu-8g")
		require.True(t, known)
		if err != nil {
			return map[string]Machine{"a3": {Err: err}}
		}
		return map[string]Machine{"a3": {MachineType: m, Source: "from a test"}}
	}
}

func TestInitTakesTheRestFromSlurmAndWritesBothFiles(t *testing.T) {
	i, machines := begun(t, nil)
	next, err := i.Write(t.Context(), beta{"24.11"}, machines, strings.NewReader(""), io.Discard)
	require.NoError(t, err)
	assert.Contains(t, next, i.Path+" and "+i.FlexConf+" are written.")
	for path, has := range map[string]string{i.Path: "slurm_cluster_name: beta ", i.FlexConf: "NodeName=beta-a3-[0-1] "} {
		assert.Contains(t, must.Text(path), has)
	}
	_, err = i.Write(t.Context(), beta{"24.11"}, machines, strings.NewReader(""), io.Discard)
	assert.True(t, config.IsMisuse(err), "init replaces no file: %v", err)
}

func TestInitRefusesAnswersThatNoClusterCanHave(t *testing.T) {
	for says, change := range map[string]func(*Init){
		"--nodes must be 1 to 100000, not 0":                                                      func(i *Init) { i.Nodes = 0 },
		"--nodes must be 1 to 100000, not 100001":                                                 func(i *Init) { i.Nodes = 100_001 },
		"--machine-type: slurmflex does not support A4X; use H4D or another type with GPUs":       func(i *Init) { i.Machine = "a4x-highgpu-4g" },
		"--machine-type n2-standard-4: flex-start does not offer it; use H4D or a type with GPUs": func(i *Init) { i.Machine = "n2-standard-4" },
	} {
		i, _ := begun(t, nil)
		change(i)
		_, err := i.Write(t.Context(), beta{"24.11"}, func(context.Context, *config.Config, map[string]string) map[string]Machine {
			return map[string]Machine{"n2": {MachineType: mig.MachineType{CPUs: 4, Memory: 16384}, Source: "from a test"}}
		}, strings.NewReader(""), io.Discard)
		require.EqualError(t, err, says)
		assert.True(t, config.IsMisuse(err), says)
		assert.NoFileExists(t, i.Path)
	}
}

func TestInitWritesNothingForAnUnknownMachine(t *testing.T) {
	i, machines := begun(t, errors.New("404 notFound"))
	_, err := i.Write(t.Context(), beta{"24.11"}, machines, strings.NewReader(""), io.Discard)
	require.EqualError(t, err, "--machine-type a3-megagpu-8g: its CPUs and memory are unknown: 404 notFound; correct it, or run init where Compute can be read")
	assert.NoFileExists(t, i.Path)
	assert.NoFileExists(t, i.FlexConf)
}

func TestOutputIsCheckedBeforeItsTextIsMade(t *testing.T) {
	var stdout strings.Builder
	never := func() (string, error) { panic("the text is made") }
	assert.True(t, config.IsMisuse(Output(&stdout, t.TempDir(), never)), "a folder is no file")

	text := func() (string, error) { return "text\n", nil }
	require.NoError(t, Output(&stdout, "", text))
	assert.Equal(t, "text\n", stdout.String())
	file := filepath.Join(t.TempDir(), "flex.conf")
	require.NoError(t, Output(&stdout, file, text))
	require.Error(t, Output(&stdout, file, func() (string, error) { return "half", io.ErrUnexpectedEOF }))
	assert.Equal(t, "text\n", must.Text(file))
}
