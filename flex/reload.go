package flex

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
)

// lookAgain is how often the daemon checks whether its configuration file has
// changed.
const lookAgain = time.Second

// Reloader rereads the daemon's configuration file on HUP, and reports differences between the file and
// the running configuration. An invalid file changes nothing.
type Reloader struct {
	File string
	Read func() (*config.Config, error)
	R    *Reconciler
	// Use makes the users of the configuration other than the reconciler use another one.
	Use   func(*config.Config)
	Valid func(valid bool) // is called with the validity of the file
	// Differ is called with the difference between the file and the running configuration; empty
	// for none.
	Differ func(says string)

	running *config.Config // the configuration that passes use
	taken   *config.Config // the file as read when running was made from it
	at      time.Time      // when taken was read
	restart []string       // keys of taken that need a restart
	seen    os.FileInfo    // the file when it was last read; nil if it did not exist
	said    string         // the last report about the file
	between chan func()
}

// Start serves HUPs until ctx ends. The returned function waits until the last reload is done.
func (l *Reloader) Start(ctx context.Context, hangups <-chan os.Signal) (wait func()) {
	l.running, l.taken, l.at, l.between = l.R.Config, l.R.Config, time.Now(), make(chan func())
	l.R.Between = l.between
	over := make(chan struct{})
	go func() {
		defer close(over)
		again := time.NewTicker(lookAgain)
		defer again.Stop()
		for {
			l.look()
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				l.reload(ctx)
			case <-again.C:
			}
		}
	}()
	return func() { <-over }
}

// reload switches to the configuration in the file from the next pass on, if the file is valid.
func (l *Reloader) reload(ctx context.Context) {
	read, err := l.Read()
	if err != nil {
		l.R.Log.Error("configuration not reloaded; the daemon keeps the one it has", zap.Error(err))
		return
	}
	next, restart := l.running.Reload(read)
	l.running, l.taken, l.at, l.restart, l.seen = next, read, time.Now(), restart, nil
	select {
	case <-ctx.Done():
		return
	case l.between <- func() {
		l.R.Config = next
		l.Use(next)
	}:
	}
	l.R.Log.Info("configuration reloaded", zap.String("file", l.File))
}

// look reads the file if it has changed. It logs a new problem once, and reports it in the status
// as long as it lasts.
func (l *Reloader) look() {
	now, _ := os.Stat(l.File) // if it fails, reading the file returns the error
	if l.seen != nil && now != nil && os.SameFile(now, l.seen) && now.ModTime().Equal(l.seen.ModTime()) && now.Size() == l.seen.Size() {
		return
	}
	l.seen = now
	read, err := l.Read()
	l.Valid(err == nil)
	says := ""
	since := l.at.UTC().Format(time.RFC3339)
	switch {
	case err != nil:
		says = fmt.Sprintf("the configuration file is invalid; the daemon keeps the one from %s: %s",
			since, strings.ReplaceAll(err.Error(), "\n", "; "))
	case !reflect.DeepEqual(read, l.taken):
		says = fmt.Sprintf("%s has changed since %s; to apply it: systemctl reload slurmflex", l.File, since)
	case len(l.restart) > 0:
		says = fmt.Sprintf("%s: a reload does not apply %s; to apply it: systemctl restart slurmflex",
			l.File, strings.Join(l.restart, ", "))
	}
	l.Differ(says)
	if says != l.said && says != "" {
		l.R.Log.Warn("configuration file differs from the running configuration", zap.String("problem", says))
	}
	l.said = says
}
