package main

import (
	"fmt"
	"os"
	"os/signal"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex/logs"
)

// logToStderr is the log of what somebody runs, or systemd: readable lines
// unless the configuration wants JSON.
func (a *app) logToStderr(o config.Options) (*zap.Logger, error) {
	encoder := logs.Readable()
	switch {
	case o.LogFormat == "json":
		encoder = logs.JSON()
	case logs.IsJournal(os.Stderr):
		encoder = logs.Journal()
	}
	return a.newLog(encoder, &a.progress, o.LogLevel)
}

// logIfPossible is the log of what must do its work even if it cannot log: into the
// file, as JSON unless the configuration wants readable lines, and to syslog, so that
// the journal has it beside the daemon's lines.
func (a *app) logIfPossible(o config.Options) *zap.Logger {
	encoder := logs.JSON()
	if o.LogFormat == "console" {
		encoder = logs.Readable()
	}
	// Rotating the file needs no signal: no process keeps it open for longer than a
	// hook, or a pass without a daemon, lasts.
	file, err := logs.Open(o.LogFile)
	if err != nil {
		fmt.Fprintf(os.Stderr, "slurmflex: open log: %v; create its folder for SlurmUser, or set slurmflex.log_file\n", err)
		log := a.logToSyslog()
		log.Error("log file cannot be opened; logging to syslog", zap.Error(err))
		return log
	}
	log, err := a.newLog(encoder, zapcore.Lock(file), o.LogLevel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurmflex:", err)
		return zap.NewNop()
	}
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewTee(core, a.logToSyslog().Core())
	}))
}

// logToSyslog is the log of hooks, also of those that have no file, or no configuration
// to name it: slurmctld discards what they print.
func (a *app) logToSyslog() *zap.Logger { return logs.ToSyslog(a.syslog) }

func (a *app) newLog(encoder zapcore.Encoder, to zapcore.WriteSyncer, level string) (*zap.Logger, error) {
	at, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, usageError{err}
	}
	a.level = at
	return zap.New(zapcore.NewCore(encoder, to, at), zap.ErrorOutput(zapcore.Lock(os.Stderr))), nil
}

// toggleDebug has each SIGUSR1 switch the log to debug, or back again, until
// what it returns is called.
func (a *app) toggleDebug() (stop func()) {
	usual := a.level.Level()
	if usual == zapcore.DebugLevel {
		usual = zapcore.InfoLevel
	}
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, unix.SIGUSR1)
	go func() {
		defer close(over)
		for range signals {
			now := zapcore.DebugLevel
			if a.level.Level() == now {
				now = usual
			}
			a.level.SetLevel(min(now, zapcore.InfoLevel)) // so that it is logged
			a.log.Info("log level changed by SIGUSR1", zap.Stringer("level", now))
			a.level.SetLevel(now)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-over
	}
}
