// Package logs formats slurmflex's log lines and writes them to the log file of hooks, the journal
// and syslog.
package logs

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/signal"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// Log is a log with a level that can change.
type Log struct {
	*zap.Logger
	level zap.AtomicLevel
}

// New makes the log, on stderr, of a command that a user or systemd runs. It writes readable lines, in the
// journal's form if stderr is the journal.
func New(level string) Log {
	encoder := readable()
	if isJournal(os.Stderr) {
		encoder = journalLines()
	}
	return newLog(encoder, zapcore.Lock(os.Stderr), level)
}

// ForHooks makes the log of hooks, which must work even if logging fails. It writes to the file, one JSON
// object per line, and to syslog, so that the journal shows these lines beside the daemon's. If the file
// cannot be opened, it writes to syslog only.
func ForHooks(path, level, syslog string) *zap.Logger {
	// Rotating the file needs no signal: a process keeps the file open only while a hook, or a pass
	// without a daemon, runs.
	file, err := Open(path)
	if err != nil {
		fmt.Fprintf(os.Stderr, "slurmflex: open log: %v; create its folder for SlurmUser, or set slurmflex.log_file\n", err)
		log := ToSyslog(syslog)
		log.Error("log file cannot be opened; logging to syslog; create its folder for SlurmUser, or set slurmflex.log_file", zap.Error(err))
		return log
	}
	return newLog(zapcore.NewJSONEncoder(keys()), zapcore.Lock(file), level).WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return zapcore.NewTee(core, ToSyslog(syslog).Core()) }))
}

func newLog(encoder zapcore.Encoder, to zapcore.WriteSyncer, level string) Log {
	least, _ := zapcore.ParseLevel(level) // loading the configuration has checked the level
	at := zap.NewAtomicLevelAt(least)
	return Log{zap.New(zapcore.NewCore(encoder, to, at), zap.ErrorOutput(zapcore.Lock(os.Stderr))), at}
}

// ToggleDebug toggles debug level on each SIGUSR1 until stop is called.
func (l Log) ToggleDebug() (stop func()) {
	usual := l.level.Level()
	if usual == zapcore.DebugLevel {
		usual = zapcore.InfoLevel
	}
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, unix.SIGUSR1)
	go func() {
		defer close(over)
		for range signals {
			now := zapcore.DebugLevel
			if l.level.Level() == now {
				now = usual
			}
			l.level.SetLevel(min(now, zapcore.InfoLevel)) // so that the change is logged
			l.Info("log level changed by SIGUSR1", zap.Stringer("level", now))
			l.level.SetLevel(now)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-over
	}
}

// Open opens the log file of hooks. It rejects a link, which could point to any file, and a pipe
// without a reader.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o640)
}

// syslogSocket is the socket of syslog, or of the journal that replaces it.
const syslogSocket = "/dev/log"

// ToSyslog logs to a syslog socket; an empty path means the usual socket. Without syslog, nothing
// is logged.
func ToSyslog(socket string) *zap.Logger {
	conn, err := net.Dial("unixgram", cmp.Or(socket, syslogSocket))
	if err != nil {
		return zap.NewNop()
	}
	c := keys()
	c.TimeKey, c.LevelKey = "", ""
	encoder := journal{Encoder: zapcore.NewConsoleEncoder(c), facility: syslogDaemon, tag: fmt.Sprintf("slurmflex[%d]: ", os.Getpid())}
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(impatient{conn}), zapcore.InfoLevel))
}

// impatient is a connection to a syslog that may hang. It never keeps a hook waiting.
type impatient struct{ net.Conn }

func (c impatient) Write(line []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return 0, err
	}
	return c.Conn.Write(line)
}

func keys() zapcore.EncoderConfig {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339TimeEncoder
	c.EncodeDuration = zapcore.StringDurationEncoder
	c.ConsoleSeparator = " "
	return c
}

// readable writes lines for people.
func readable() zapcore.Encoder { return zapcore.NewConsoleEncoder(keys()) }

// journalLines writes readable lines without the time and the level. The journal records the time
// itself, and gets the priority as a prefix.
func journalLines() zapcore.Encoder {
	c := keys()
	c.TimeKey, c.LevelKey = "", ""
	return journal{Encoder: zapcore.NewConsoleEncoder(c)}
}

// isJournal reports whether a file leads to the journal.
// Source: systemd.exec(5), JOURNAL_STREAM.
func isJournal(f *os.File) bool {
	var stat unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &stat)
	return err == nil && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// syslogDaemon is the facility of daemons. Source: RFC 3164, 4.1.1.
const syslogDaemon = 3 << 3

// journal writes the priority before each line, and for syslog also a tag. Sources: sd-daemon(3),
// RFC 3164.
type journal struct {
	zapcore.Encoder
	facility int
	tag      string
}

// Clone copies the encoder.
func (j journal) Clone() zapcore.Encoder {
	j.Encoder = j.Encoder.Clone()
	return j
}

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
	line.AppendString(fmt.Sprintf("<%d>%s%s", j.facility|priority, j.tag, text))
	return line, nil
}
