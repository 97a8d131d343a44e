package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap/zapcore"
)

// core has a process's log go into the journal.
func (j *journal) core(process string) zapcore.Core {
	return journalCore{LevelEnabler: zapcore.InfoLevel, journal: j, process: process}
}

// journalCore is a log whose lines are entries of a journal.
type journalCore struct {
	zapcore.LevelEnabler
	journal *journal
	process string
	fields  []zapcore.Field
}

// With adds fields to all lines.
func (c journalCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = slices.Concat(c.fields, fields)
	return c
}

// Check takes a line if its level is logged.
func (c journalCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

// Write notes a line, its fields by name.
func (c journalCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range slices.Concat(c.fields, fields) {
		f.AddTo(values)
	}
	text := &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(values.Fields)) {
		fmt.Fprintf(text, " %s=%v", name, values.Fields[name])
	}
	c.journal.note("%s: %s: %s%s", c.process, e.Level, e.Message, text)
	return nil
}

// Sync does nothing: the journal is in memory.
func (c journalCore) Sync() error { return nil }
