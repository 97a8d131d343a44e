package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/test/must"
)

// pseudo is a pseudo terminal: its screen and its keyboard.
type pseudo struct {
	keyboard, tty *os.File
	mu            sync.Mutex
	screen        bytes.Buffer
}

func newTerminal(t testing.TB, rows, columns uint16) *pseudo {
	t.Helper()
	keyboard := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
	term := &pseudo{keyboard: keyboard, tty: tty}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := keyboard.Read(buffer)
			if err != nil {
				return
			}
			term.mu.Lock()
			term.screen.Write(buffer[:n])
			term.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		tty.Close() // this ends the reading
		<-read
		keyboard.Close()
	})
	return term
}

func (t *pseudo) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.String()
}

// on prepares slurmflex to run on the terminal.
func (w *world) on(term *pseudo, args ...string) *process {
	w.Helper()
	r := w.flex(args...)
	r.Stdin, r.Stdout = term.tty, term.tty
	return r
}

func TestColorsDependOnTheTerminalsSettings(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		env  string
		want bool
	}{
		"a terminal":            {"TERM=xterm", true},
		"NO_COLOR":              {"NO_COLOR=1", false},
		"a terminal of no kind": {"TERM=dumb", false},
	} {
		t.Run(name, func(t *testing.T) {
			term := newTerminal(t, 40, 100)
			r := w.in(t).on(term, "status")
			r.Env = append(r.Env, c.env)
			r.exits(exitDone)
			require.Eventually(t, func() bool { return strings.Contains(term.shown(), "active requests") }, slack, 20*time.Millisecond)
			assert.Equal(t, c.want, strings.Contains(term.shown(), "\x1b[1mNODESET"))
		})
	}
}
