package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/test/must"
)

// listening configures a free address for the daemon's page.
func (w *world) listening() (address string) {
	w.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	address = l.Addr().String()
	require.NoError(w, l.Close())
	w.configure("http_address: 127.0.0.1:0", "http_address: "+address)
	return address
}

// served starts a daemon and waits until it serves its first pass.
func (w *world) served() *process {
	w.Helper()
	address := w.listening()
	d := w.daemon()
	w.eventually(func() bool { return strings.Contains(shown(address, "/status.json"), `"cluster"`) })
	return d
}

// withoutSlurm removes Slurm's commands.
func (w *world) withoutSlurm() {
	w.Helper()
	w.answer("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1")
}

func TestStatusFromTheDaemonNeedsNoSlurmOrCredentials(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting()
	w.served()
	w.withoutSlurm()
	w.configure("slurmflex:\n", "google_app_cred_path: DIR/key.json\nslurmflex:\n")

	status := w.runs("status")
	assert.Regexp(t, `\na3 +812 +ada +alpha-a3-\[0-1\] +(requesting|queued) `, status.stdout.String())
	assert.NotContains(t, status.stdout.String(), "no daemon answers")

	var v view.View
	w.runs("status", "--json").decodes(&v)
	assert.Equal(t, "alpha", v.Cluster)
	assert.Equal(t, view.Seconds(time.Hour), v.Daemon.Interval)
	require.NotEmpty(t, v.Actions)

	why := w.runs("why", "--verbose", "812")
	assert.Contains(t, why.stdout.String(), "job 812 (ada)   ")
	assert.Empty(t, why.stderr.String())
}

func TestStatusFiltersByUserIfSlurmNamesTheOwners(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	for call, shown := range map[string]bool{"--user ada": true, "--user grace": false, "--partition train": true, "--me": false} {
		text := w.prints(append([]string{"status"}, strings.Fields(call)...)...)
		assert.Equal(t, shown, strings.Contains(text, " 812 "), call)
		assert.Equal(t, !shown, strings.Contains(text, "\nno jobs, nodes or machines match\n"), call)
	}
	assert.Regexp(t, `\nNODESET .* GPUS `, w.prints("status", "-o", "wide"))

	w.answer("scontrol", strings.Replace(knowing, "ResumeTimeout ", "PrivateData = jobs\\nResumeTimeout ", 1))
	w.fails("status", "--user", "ada").complains("Slurm hides the users of jobs (PrivateData)")
}
