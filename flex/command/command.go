// Package command carries out sync, gc and down for the person or the cron job that runs them. It
// asks before it tears something down, and reports what was done and what was not.
package command

import "io"

// Terminal is where a command asks and reports.
type Terminal struct {
	In   io.Reader
	Out  io.Writer
	JSON bool // the report is JSON
}
