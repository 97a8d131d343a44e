package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// begun prepares init with names of new files and with an input.
func (w *world) begun(input string, args ...string) *process {
	w.Helper()
	r := prepare(w, w.env("PATH="+w.path("bin")+":/usr/bin:/bin"), os.Args[0],
		append([]string{"--config", w.path("new.yaml"), "init", "--flex-conf", w.path("flex.conf"), "--slurm-version", "24.11"}, args...)...)
	r.Stdin = strings.NewReader(input)
	return r
}

func TestConfigCheckAcceptsTheFilesOfInit(t *testing.T) {
	w := newWorld(t)
	r := w.begun("my-project\nus-central1\n\na3-megagpu-8g\n\n", "--cluster", "alpha", "--zones", "us-central1-a").exits(exitDone)
	r.reports("Partition to create [train]: ")
	r.shows("- create the instance template projects/my-project/regions/us-central1/instanceTemplates/a3 (docs/install.md, step 3)\n")
	check := prepare(t, w.env(), os.Args[0], "--config", w.path("new.yaml"), "config", "check").exits(exitDone)
	assert.Equal(t, w.path("new.yaml")+": OK: cluster alpha: slurmflex provisions 1 of 1 nodeset\n", check.stdout.String())
	assert.FileExists(t, w.path("flex.conf"))
	w.begun("").exits(exitUsage).complains("new.yaml exists already, and init replaces no file")
}
