package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files writes a slurm.conf and the files beside it, and reads slurm.conf.
func files(t *testing.T, texts map[string]string) (*confFile, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	f, err := readConfFile(filepath.Join(dir, "slurm.conf"))
	return f, dir, err
}

func TestSettingsAreFoundWithTheirPlaces(t *testing.T) {
	f, dir, err := files(t, map[string]string{
		"slurm.conf": "# ResumeRate=1\nClusterName = alpha\nresumerate=300 # too many\n\nInclude cloud.conf\nSuspendTime=300\n",
		"cloud.conf": "ResumeRate=0\r\nSlurmctldParameters=a,\\\nb\nPartitionName=train Nodes=n[0-1] \\\n  SuspendTime=60\nNodeName=n[0-1] CPUs=2",
	})
	require.NoError(t, err)
	for key, want := range map[string]struct {
		file  string
		line  int
		value string
	}{
		"ClusterName":         {"slurm.conf", 2, "alpha"},
		"ResumeRate":          {"cloud.conf", 1, "0"}, // the last value counts
		"SLURMCTLDPARAMETERS": {"cloud.conf", 2, "a, b"},
		"SuspendTime":         {"slurm.conf", 6, "300"},
	} {
		at, value, ok := f.setting(key)
		assert.True(t, ok, key)
		assert.Equal(t, place{filepath.Join(dir, want.file), want.line}, at, key)
		assert.Equal(t, want.value, value, key)
	}
	at, _, ok := f.setting("ResumeTimeout")
	assert.False(t, ok)
	assert.Equal(t, place{File: filepath.Join(dir, "slurm.conf")}, at)

	at, parameters, ok := f.record("PartitionName", "train")
	assert.True(t, ok)
	assert.Equal(t, place{filepath.Join(dir, "cloud.conf"), 4}, at)
	assert.Equal(t, []parameter{{"Nodes", "n[0-1]"}, {"SuspendTime", "60"}}, parameters)
	_, _, ok = f.record("PartitionName", "trai")
	assert.False(t, ok)
	assert.True(t, f.anyHas("partitionname", "suspendtime"))
	assert.False(t, f.anyHas("NodeName", "SuspendTime"))
}

func TestRecordHasTheDefaultsAboveIt(t *testing.T) {
	f, dir, err := files(t, map[string]string{
		"slurm.conf": "PartitionName=DEFAULT\tMaxTime=1\nNodeName=DEFAULT CPUs=2\nPartitionName=default MaxTime=2\nPartitionName=train\tState=UP\tNodes=a-[0-7]\nPartitionName=DEFAULT MaxTime=3\nPartitionName=\n",
	})
	require.NoError(t, err)
	at, parameters, ok := f.record("PartitionName", "train")
	assert.True(t, ok)
	assert.Equal(t, place{filepath.Join(dir, "slurm.conf"), 4}, at)
	assert.Equal(t, []parameter{{"State", "UP"}, {"Nodes", "a-[0-7]"}, {"MaxTime", "2"}, {"MaxTime", "1"}}, parameters)
}

func TestIncludedPathMayNameTheCluster(t *testing.T) {
	f, _, err := files(t, map[string]string{
		"slurm.conf": "ClusterName=Alpha\ninclude %c.conf\nClusterName=beta\n", "alpha.conf": "SuspendTime=300\n",
	})
	require.NoError(t, err)
	_, value, _ := f.setting("SuspendTime")
	assert.Equal(t, "300", value)
}

func TestIncompleteSlurmConfIsAnError(t *testing.T) {
	for want, text := range map[string]string{
		"gone.conf: no such file or directory":         "include gone.conf\n",
		"%c.conf: no such file or directory":           "include %c.conf\nClusterName=alpha\n",
		"more than 64 files include each other":        "include slurm.conf\n",
		"/dev/null/slurm.conf: not a directory":        "include /dev/null/slurm.conf\n",
		fmt.Sprintf("larger than %d MiB", maxConf>>20): string(make([]byte, maxConf+1)),
	} {
		_, _, err := files(t, map[string]string{"slurm.conf": text})
		require.ErrorContains(t, err, "read slurm.conf: ")
		require.ErrorContains(t, err, want)
	}
}

func FuzzParseSlurmConf(f *testing.F) {
	f.Add("A=1\nB=2 \\\n3\n#C=4\nNodeName=n[0-1] CPUs=2\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := &confFile{Path: "/nonexistent/slurm.conf"}
		if file.parse(file.Path, text) != nil {
			return // with an include
		}
		for _, e := range file.entries {
			at, _, ok := file.setting(e.key)
			if !ok || at.Line < 1 {
				t.Errorf("%q is at %v", e.key, at)
			}
		}
	})
}
