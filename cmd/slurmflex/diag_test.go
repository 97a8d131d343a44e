package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unpacked returns the files in a diag archive.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	packed, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[strings.TrimPrefix(h.Name, "slurmflex-diag/")] = string(text)
	}
}

func TestDiagCollectsTheFilesOfABugReport(t *testing.T) {
	w := newWorld(t)
	w.configure(t, "project: demo\n", "project: demo\ncloudsql: {password: hunter2}\n")
	w.write(t, "log/slurmflex.log", `{"level":"info","ts":"2001-01-01T00:00:00Z","msg":"old"}`+"\n"+
		`{"level":"info","ts":"`+time.Now().UTC().Format(time.RFC3339)+`","msg":"powered up","password":"hunter2"}`+"\n")
	out := w.flex(t, "diag", "-o", w.path("diag.tar.gz")).exits(t, exitDone).stdout.String()
	info, err := os.Stat(w.path("diag.tar.gz"))
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode())

	files := unpacked(t, w.path("diag.tar.gz"))
	assert.Equal(t, out, files["INDEX.txt"]+w.path("diag.tar.gz")+": nothing was uploaded; read it before you share it: names, addresses and unusual secrets remain\n")
	assert.Contains(t, files["config.yaml"], "cloudsql: {password: REMOVED}")
	assert.Contains(t, files["config-check.txt"], "config.yaml")
	assert.Contains(t, files["status.json"], `"kind": "status"`)
	assert.Contains(t, files["plan.json"], `"kind": "plan"`)
	assert.Contains(t, files["version.txt"], "slurmflex ")
	assert.Regexp(t, `^.*"powered up","password":"REMOVED"}\n$`, files["hooks.log"])
	assert.Contains(t, files["slurm-config.txt"], "ResumeTimeout")
	assert.Contains(t, files["slurm-nodes.txt"], "alpha-a3-7")
	for name, text := range files {
		assert.NotContains(t, text, "hunter2", name)
	}
	assert.Regexp(t, `(?m)^metrics.txt +not included  the daemon's metrics: no daemon answers at `, out)
	assert.Regexp(t, `(?m)^trial.jsonl +not included  transcript of a trial: name one with --trial FILE`, out)

	w.flex(t, "diag", "-o", w.path("diag.tar.gz")).exits(t, exitFailed).complains(t, "write the archive: ", "file exists; name another file with --output")
}

func TestDiagWorksWithoutAValidConfiguration(t *testing.T) {
	w := newWorld(t)
	w.configure(t, "project: demo\n", "project: \"\"\n")
	w.write(t, "bin/journalctl", "#!/bin/sh\n")
	r := w.flex(t, "diag", "-o", w.path("diag.tar.gz"))
	r.Env = append(r.Env, "PATH="+w.path("bin")+":/usr/bin:/bin")
	out := r.exits(t, exitDone).stdout.String()
	assert.Regexp(t, `^slurmflex diag: cluster alpha, \S+Z, run by \w+\n`, out)
	assert.Regexp(t, `(?m)^hooks.log +not included .*: the configuration cannot be read$`, out)
	assert.Regexp(t, `(?m)^plan.json +not included .*: exit status 2 .*project`, out)
	files := unpacked(t, w.path("diag.tar.gz"))
	assert.Contains(t, files["config-check.txt"], "project: ")
	assert.Contains(t, files["slurm-nodes.txt"], "alpha-a3-7", "Slurm's commands are then those of the PATH")
}
