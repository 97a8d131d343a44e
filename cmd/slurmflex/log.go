package main

import (
	"fmt"
	"os"
	"os/signal"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"slurmflex/config"
)

// logToStderr is the log of what somebody runs, or systemd: readable lines
// unless the configuration wants JSON.
func (a *app) logToStderr(o config.Options) (*zap.Logger, error) {
	encoder := readable()
	switch {
	case o.LogFormat == "json":
		encoder = jsonLines()
	case isJournal(os.Stderr):
		encoder = forJournal()
	}
	return a.newLog(encoder, &a.foot, o.LogLevel)
}

// logIfPossible is the log, into the file, of what must do its work even if it
// cannot log: JSON unless the configuration wants readable lines.
func (a *app) logIfPossible(o config.Options) *zap.Logger {
	encoder := jsonLines()
	if o.LogFormat == "console" {
		encoder = readable()
	}
	// Whoever rotates the file needs to tell nobody: no process has it open for
	// longer than a hook, or a round without a daemon, lasts.
	file, err := os.OpenFile(o.LogFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		fmt.Fprintf(os.Stderr, "slurmflex: open log: %v; create its folder for the user that runs slurmctld, or set slurmflex.log_file\n", err)
		return zap.NewNop()
	}
	log, err := a.newLog(encoder, zapcore.Lock(file), o.LogLevel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurmflex:", err)
		return zap.NewNop()
	}
	return log
}

func (a *app) newLog(encoder zapcore.Encoder, to zapcore.WriteSyncer, level string) (*zap.Logger, error) {
	at, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, usageError{err}
	}
	a.level = at
	return zap.New(zapcore.NewCore(encoder, to, at), zap.ErrorOutput(zapcore.Lock(os.Stderr))), nil
}

func keys() zapcore.EncoderConfig {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339TimeEncoder
	c.EncodeDuration = zapcore.StringDurationEncoder
	c.ConsoleSeparator = " "
	return c
}

func jsonLines() zapcore.Encoder { return zapcore.NewJSONEncoder(keys()) }

func readable() zapcore.Encoder { return zapcore.NewConsoleEncoder(keys()) }

// forJournal writes readable lines without what the journal has itself: the time
// and, as a prefix, the priority.
func forJournal() zapcore.Encoder {
	c := keys()
	c.TimeKey, c.LevelKey = "", ""
	return journal{zapcore.NewConsoleEncoder(c)}
}

// isJournal reports whether a file leads to the journal.
// Source: systemd.exec(5), JOURNAL_STREAM.
func isJournal(f *os.File) bool {
	var stat unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &stat)
	return err == nil && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// journal puts the priority before each line. Source: sd-daemon(3).
type journal struct{ zapcore.Encoder }

func (j journal) Clone() zapcore.Encoder { return journal{j.Encoder.Clone()} }

func (j journal) EncodeEntry(e zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := j.Encoder.EncodeEntry(e, fields)
	if err != nil {
		return nil, err
	}
	priority := 6 // info
	switch {
	case e.Level >= zapcore.ErrorLevel:
		priority = 3
	case e.Level == zapcore.WarnLevel:
		priority = 4
	case e.Level == zapcore.DebugLevel:
		priority = 7
	}
	text := line.String()
	line.Reset()
	line.AppendString(fmt.Sprintf("<%d>%s", priority, text))
	return line, nil
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
			a.level.SetLevel(min(now, zapcore.InfoLevel)) // so that it is said
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
