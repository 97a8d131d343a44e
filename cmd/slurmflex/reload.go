package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/door"
	"slurmflex/flex/web"
)

// lookAgain is how often the daemon checks whether its configuration file has
// changed.
const lookAgain = time.Second

// reloader reads the configuration again on HUP, and reports how the file differs
// from what the daemon runs with. An invalid file changes nothing.
type reloader struct {
	app     *app
	r       *flex.Reconciler
	board   *web.Board
	doors   *door.Keeper
	between chan func()

	running *config.Config // what the passes use
	taken   *config.Config // the file as it was read for that
	at      time.Time      // when
	restart []string       // the keys of it that take a restart
	seen    os.FileInfo    // the file when it was last read, nil if it was not there
	said    string         // what was last said of it
}

// reloading serves HUPs until ctx ends. What it returns waits for that.
func (a *app) reloading(ctx context.Context, r *flex.Reconciler, board *web.Board, doors *door.Keeper, hangups <-chan os.Signal) (wait func()) {
	l := &reloader{app: a, r: r, board: board, doors: doors, between: make(chan func()), running: r.Config, taken: r.Config, at: time.Now()}
	r.Between = l.between
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

// reload has the next pass and those after it use the file, if it is valid.
func (l *reloader) reload(ctx context.Context) {
	read, err := l.app.config()
	if err != nil {
		l.r.Log.Error("configuration not reloaded; the daemon keeps the one it has", zap.Error(err))
		return
	}
	next, restart := l.running.Reload(read)
	l.running, l.taken, l.at, l.restart, l.seen = next, read, time.Now(), restart, nil
	select {
	case <-ctx.Done():
		return
	case l.between <- func() {
		l.r.Config = next
		l.board.Use(next)
		l.doors.Use(next)
		l.app.measures.Use(next)
		l.app.history.Use(next)
	}:
	}
	l.r.Log.Info("configuration reloaded", zap.String("file", l.app.configPath))
}

// look reads the file if it has changed, and reports what is wrong with it: once in
// the log, and in the status for as long as that lasts.
func (l *reloader) look() {
	now, _ := os.Stat(l.app.configPath) // reading it says why it cannot be read
	if l.seen != nil && now != nil && os.SameFile(now, l.seen) && now.ModTime().Equal(l.seen.ModTime()) && now.Size() == l.seen.Size() {
		return
	}
	l.seen = now
	read, err := l.app.config()
	l.app.measures.ConfigRead(err == nil)
	says := ""
	since := l.at.UTC().Format(time.RFC3339)
	switch {
	case err != nil:
		says = fmt.Sprintf("the configuration file is invalid; the daemon keeps the one from %s: %s",
			since, strings.ReplaceAll(err.Error(), "\n", "; "))
	case !reflect.DeepEqual(read, l.taken):
		says = fmt.Sprintf("%s has changed since %s; to apply it: systemctl reload slurmflex", l.app.configPath, since)
	case len(l.restart) > 0:
		says = fmt.Sprintf("%s: a reload does not apply %s; to apply it: systemctl restart slurmflex",
			l.app.configPath, strings.Join(l.restart, ", "))
	}
	l.board.NoteConfig(says)
	if says != l.said && says != "" {
		l.r.Log.Warn("configuration file differs from the running configuration", zap.String("problem", says))
	}
	l.said = says
}
