package main

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
