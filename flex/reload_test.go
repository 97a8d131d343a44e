package flex

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/config"
)

// configUser records the configurations that it is told to use.
type configUser struct{ used []*config.Config }

func (u *configUser) Use(cfg *config.Config) { u.used = append(u.used, cfg) }

// reloading returns a reloader that runs with a configuration. read is what its file contains.
func reloading(t *testing.T) (l *Reloader, read *config.Config, says *string, logged *observer.ObservedLogs) {
	t.Helper()
	core, logged := observer.New(zap.WarnLevel)
	cfg := &config.Config{Cluster: "alpha", Options: config.Options{HTTPAddress: "127.0.0.1:1"}}
	read, says = new(config.Config), new(string)
	*read = *cfg
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	l = &Reloader{
		File: file, Read: func() (*config.Config, error) { next := *read; return &next, nil },
		R: &Reconciler{Config: cfg, Log: zap.New(core)}, Valid: func(bool) {}, Differ: func(text string) { *says = text },
		running: cfg, taken: cfg, between: make(chan func()),
	}
	return l, read, says, logged
}

// reloads reloads while a pass ends.
func reloads(t *testing.T, l *Reloader) {
	t.Helper()
	over := make(chan struct{})
	go func() { (<-l.between)(); close(over) }()
	l.reload(t.Context())
	<-over
}

func TestChangedFileIsReportedUntilItIsReloaded(t *testing.T) {
	l, read, says, logged := reloading(t)
	l.look()
	assert.Empty(t, *says)
	read.Options.Interval, l.seen = time.Minute, nil
	l.look()
	assert.Contains(t, *says, "config.yaml has changed since ")
	l.seen = nil
	l.look()
	assert.Equal(t, 1, logged.Len(), "the same problem is logged once")

	u := &configUser{}
	l.Users = []User{u}
	reloads(t, l)
	l.look()
	assert.Empty(t, *says)
	assert.Equal(t, time.Minute, l.R.Config.Options.Interval)
	require.Len(t, u.used, 1)
	assert.Same(t, l.R.Config, u.used[0])
}
