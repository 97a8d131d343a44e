// Package command carries out sync, gc and down for the person or the cron job that runs them. It
// shows progress, asks before it tears something down, and reports what was done and what was not.
package command

import (
	"io"

	"slurmflex/flex/terminal"
)

// Terminal is where a command asks and reports.
type Terminal struct {
	Progress *terminal.Progress // on stderr
	In       io.Reader
	Out      io.Writer
	JSON     bool // the report is JSON
}
