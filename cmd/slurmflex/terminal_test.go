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
)

// What is written to a terminal.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	goHome      = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// pseudo is a pseudo terminal: its screen and its keyboard.
type pseudo struct {
	keyboard, tty *os.File
	mu            sync.Mutex
	screen        bytes.Buffer
}

func newTerminal(t *testing.T, rows, columns uint16) *pseudo {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
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

func (t *pseudo) settings(test *testing.T) unix.Termios {
	test.Helper()
	s, err := unix.IoctlGetTermios(int(t.tty.Fd()), unix.TCGETS)
	require.NoError(test, err)
	return *s
}

// on prepares slurmflex to run on the terminal.
func (w *world) on(t *testing.T, term *pseudo, args ...string) *process {
	t.Helper()
	r := w.flex(t, args...)
	r.Stdin, r.Stdout = term.tty, term.tty
	return r
}

func TestWatchRefreshesUntilQAndRestoresTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting(t)
	w.flex(t, "sync").exits(t, exitDone)
	term := newTerminal(t, 40, 100)
	before := term.settings(t)
	r := w.on(t, term, "status", "--watch")
	require.NoError(t, r.Start())
	require.Eventually(t, func() bool { return strings.Count(term.shown(), "q quits") >= 2 }, slack, 20*time.Millisecond, "it is shown twice")
	during := term.settings(t)
	assert.Zero(t, during.Lflag&(unix.ICANON|unix.ECHO), "keys come at once and are not shown")
	_, err := term.keyboard.WriteString("xq")
	require.NoError(t, err)
	r.exits(t, exitDone)
	assert.Equal(t, before, term.settings(t))
	assert.True(t, strings.HasPrefix(term.shown(), enterScreen), "on another page")
	require.Eventually(t, func() bool { return strings.HasSuffix(term.shown(), leaveScreen) }, slack, 20*time.Millisecond, "which is left")
	assert.Contains(t, term.shown(), "alpha-a3-[0-1]")
}

func TestWatchEndsOnInterrupt(t *testing.T) {
	w := newWorld(t)
	term := newTerminal(t, 40, 100)
	before := term.settings(t)
	r := w.on(t, term, "status", "--watch")
	require.NoError(t, r.Start())
	require.Eventually(t, func() bool { return strings.Contains(term.shown(), "q quits") }, slack, 20*time.Millisecond)
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	r.exits(t, exitDone)
	assert.Equal(t, before, term.settings(t))
	require.Eventually(t, func() bool { return strings.HasSuffix(term.shown(), leaveScreen) }, slack, 20*time.Millisecond)
}

func TestWatchFitsTheTerminalAndShowsErrors(t *testing.T) {
	w := newWorld(t)
	w.nodes(t, "IDLE+CLOUD+LEVITATING", 0, 7)
	term := newTerminal(t, 6, 40)
	r := w.on(t, term, "status", "--watch")
	require.NoError(t, r.Start())
	require.Eventually(t, func() bool { return strings.Contains(term.shown(), "more lines") }, slack, 20*time.Millisecond)
	w.withoutSlurm(t)
	require.Eventually(t, func() bool { return strings.Contains(term.shown(), "no daemon answers at 127.0.0.1:0") }, slack, 20*time.Millisecond)
	_, err := term.keyboard.WriteString("q")
	require.NoError(t, err)
	r.exits(t, exitDone)
	shown := strings.NewReplacer(enterScreen, "", leaveScreen, "", clearLine, "", clearBelow, "", "\r", "").Replace(term.shown())
	for _, page := range strings.Split(shown, goHome)[1:] {
		lines := strings.Split(page, "\n")
		assert.LessOrEqual(t, len(lines), 6, page)
		for _, line := range lines {
			assert.LessOrEqual(t, len([]rune(uncolored(line))), 40, line)
		}
	}
}

// uncolored removes the color escapes from a text.
func uncolored(text string) string {
	for strings.Contains(text, "\x1b[") {
		before, after, _ := strings.Cut(text, "\x1b[")
		_, rest, _ := strings.Cut(after, "m")
		text = before + rest
	}
	return text
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
			r := w.on(t, term, "status")
			r.Env = append(r.Env, c.env)
			r.exits(t, exitDone)
			require.Eventually(t, func() bool { return strings.Contains(term.shown(), "active requests") }, slack, 20*time.Millisecond)
			assert.Equal(t, c.want, strings.Contains(term.shown(), "\x1b[1mNODESET"))
		})
	}
}
