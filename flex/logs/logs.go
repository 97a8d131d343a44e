// Package logs has the forms of slurmflex's log lines, and where the lines go: the log file of
// hooks, the journal and syslog.
package logs

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// Open opens the log file of hooks, which must not be a link, because that may
// lead anywhere. A pipe that nobody reads is an error.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o640)
}

// syslogSocket is where syslog, or the journal in its place, takes messages.
const syslogSocket = "/dev/log"

// ToSyslog logs to a socket of syslog; empty for the usual one. Without syslog nothing is
// logged.
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

// impatient is a connection to a syslog that may hang, for which no hook may wait.
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

// JSON writes an object per line.
func JSON() zapcore.Encoder { return zapcore.NewJSONEncoder(keys()) }

// Readable writes lines for people.
func Readable() zapcore.Encoder { return zapcore.NewConsoleEncoder(keys()) }

// Journal writes readable lines without what the journal has itself: the time
// and, as a prefix, the priority.
func Journal() zapcore.Encoder {
	c := keys()
	c.TimeKey, c.LevelKey = "", ""
	return journal{Encoder: zapcore.NewConsoleEncoder(c)}
}

// IsJournal reports whether a file leads to the journal.
// Source: systemd.exec(5), JOURNAL_STREAM.
func IsJournal(f *os.File) bool {
	var stat unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &stat)
	return err == nil && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// syslogDaemon is the facility of daemons. Source: RFC 3164, 4.1.1.
const syslogDaemon = 3 << 3

// journal puts the priority before each line, and for syslog a tag. Sources:
// sd-daemon(3), RFC 3164.
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
