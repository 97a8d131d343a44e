package ask

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/view"
)

func TestDaemonListeningEverywhereIsDialedLocally(t *testing.T) {
	for address, want := range map[string]string{
		":8918": "localhost:8918", "127.0.0.1:8918": "127.0.0.1:8918", "ctl1:8918": "ctl1:8918", "[::1]:8918": "[::1]:8918",
	} {
		assert.Equal(t, want, reachable(address))
	}
}

func TestViewComesFromTheDaemonOrElseFromSlurm(t *testing.T) {
	serving := func(code int, text string) (address string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	daemon := serving(http.StatusOK, `{"cluster":"alpha"}`)
	invalid, down := errors.New("config.yaml:1: project: must be set"), errors.New("no slurmctld")
	for name, c := range map[string]struct {
		address      string
		wrong, fails error // of the configuration, and of reading Slurm and Compute
		want, says   string
		text         string // of the configuration, if it is broken
	}{
		"a daemon answers":                       {address: daemon, want: "alpha"},
		"a daemon has an earlier configuration":  {address: daemon, wrong: invalid, want: "alpha"},
		"no configuration, another daemon":       {address: daemon, wrong: invalid, text: " ", says: invalid.Error()},
		"no permission to read it":               {address: daemon, wrong: fs.ErrPermission, text: "slurmflex: {http_address: '" + daemon + "'}", want: "alpha"},
		"no daemon":                              {address: "127.0.0.1:0", want: "read"},
		"no daemon and an invalid configuration": {address: "127.0.0.1:0", wrong: invalid, says: invalid.Error()},
		"neither daemon nor Slurm":               {address: "127.0.0.1:0", fails: down, says: "; reading Slurm and Compute directly failed too: no slurmctld"},
		"another cluster's daemon": {
			address: serving(http.StatusOK, `{"cluster":"beta"}`), fails: down, says: `serves cluster "beta"; give each cluster its own slurmflex.http_address`,
		},
		"an answer full of control characters": {address: serving(http.StatusNotFound, "\x1b[2J"), fails: down, says: "answers 404 Not Found:"},
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		require.NoError(t, os.WriteFile(path, []byte(cmp.Or(c.text, "slurm_cluster_name: alpha\nslurmflex: {http_address: '"+c.address+"'}\n")), 0o600))
		cfg := &config.Config{Cluster: "alpha", Options: config.Options{HTTPAddress: c.address}}
		v, err := Daemon{Config: path}.ViewOr(t.Context(), cfg, c.wrong, func() (view.View, error) { return view.View{Cluster: "read"}, c.fails })
		assert.Equal(t, c.want, v.Cluster, name)
		assert.Equal(t, c.says == "", err == nil, name)
		assert.Contains(t, fmt.Sprint(err), c.says, name)
		assert.NotContains(t, fmt.Sprint(err), "\x1b")
	}
}
