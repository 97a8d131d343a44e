package chaos

import (
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// log is a process's log, whose lines are entries of the journal.
func (j *journal) log(process string) *zap.Logger {
	form := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		LevelKey: "level", EncodeLevel: zapcore.LowercaseLevelEncoder, MessageKey: "message",
		EncodeTime: zapcore.RFC3339TimeEncoder, EncodeDuration: zapcore.StringDurationEncoder, ConsoleSeparator: " ",
	})
	return zap.New(zapcore.NewCore(form, zapcore.AddSync(logged{j, process}), zapcore.InfoLevel))
}

// logged takes the lines of a process's log.
type logged struct {
	journal *journal
	process string
}

func (l logged) Write(line []byte) (int, error) {
	l.journal.note("%s: %s", l.process, strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
