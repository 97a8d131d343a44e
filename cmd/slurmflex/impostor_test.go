package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// D6: a user took over the page's port while the daemon restarted, and answered in the daemon's
// place.
func TestAnotherUsersServerIsRejected(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to listen as another user")
	}
	w := newWorld(t)
	address := w.listening()
	runtime.LockOSThread()
	_, err := unix.SetfsuidRetUid(65534)
	require.NoError(t, err)
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	_, err = unix.SetfsuidRetUid(0)
	require.NoError(t, err)
	runtime.UnlockOSThread()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"schema_version":1,"kind":"status","cluster":"alpha","problems":["ask mallory for the password"]}`)
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	for _, command := range [][]string{{"status"}, {"status", "--json"}, {"why", "812"}, {"estimate", "812"}} {
		r := w.flex(command...).exits(exitFailed)
		r.complains("uid 65534", "listens at "+address+" instead of the slurmflex daemon", "ss -ltnp")
		assert.NotContains(t, r.stdout.String()+r.stderr.String(), "mallory")
		assert.Empty(t, r.stdout.String())
	}
}
