// Package terminal shows the cluster on a terminal with --watch, and progress on stderr.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex/view"
)

// watchPace is how often --watch refreshes.
const watchPace = 2 * time.Second

// These are escape sequences for a terminal.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, cursor hidden
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	goHome      = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Is reports whether a file is a terminal.
func Is(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// ErrNone is the error for --watch without a terminal.
var ErrNone = errors.New("--watch needs a terminal; omit it to write to a file or pipe")

// Watch shows the cluster on a terminal until q is pressed or ctx ends, then restores the terminal.
func Watch(ctx context.Context, in io.Reader, out io.Writer, see func(context.Context) (view.View, error), layout view.Layout) (err error) {
	if !Is(in) || !Is(out) {
		return ErrNone
	}
	keyboard, screen := in.(*os.File), out.(*os.File)
	restore, err := readKeys(keyboard)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if _, err := io.WriteString(screen, enterScreen); err != nil {
		return err
	}
	defer func() { _, leaveErr := io.WriteString(screen, leaveScreen); err = errors.Join(err, leaveErr) }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { awaitQuit(keyboard); cancel() }()
	for ctx.Err() == nil {
		v, seeErr := see(ctx)
		if ctx.Err() != nil {
			break
		}
		if _, err := io.WriteString(screen, frame(screen, v, seeErr, layout)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPace):
		}
	}
	return nil
}

// readKeys makes the terminal deliver each key immediately and without echo. Control-C still
// interrupts. restore undoes the change.
func readKeys(keyboard *os.File) (restore func() error, err error) {
	fd := int(keyboard.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's settings: %w", err)
	}
	keys := *was
	keys.Lflag &^= unix.ICANON | unix.ECHO
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &keys); err != nil {
		return nil, fmt.Errorf("change the terminal's settings: %w", err)
	}
	return func() error {
		if err := unix.IoctlSetTermios(fd, unix.TCSETS, was); err != nil {
			return fmt.Errorf("restore the terminal's settings: %w; the command reset does", err)
		}
		return nil
	}, nil
}

// awaitQuit returns when q is pressed or the keyboard is closed.
func awaitQuit(keyboard io.Reader) {
	key := make([]byte, 1)
	for {
		n, err := keyboard.Read(key)
		if err != nil || n > 0 && (key[0] == 'q' || key[0] == 'Q') {
			return
		}
	}
}

// sizeOf returns the size of a terminal in lines and characters. ok is false if the file is not a
// terminal or its size is unknown.
func sizeOf(screen *os.File) (rows, columns int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(screen.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Row == 0 || size.Col == 0 {
		return 0, 0, false
	}
	return int(size.Row), int(size.Col), true
}

// frame returns the text that replaces the page on the screen.
func frame(screen *os.File, v view.View, err error, layout view.Layout) string {
	rows, columns, ok := sizeOf(screen)
	if !ok {
		rows, columns = 24, 80
	}
	layout.Width = columns
	text := Table(screen, v, layout)
	if err != nil {
		text = view.Clip(view.Printable(err.Error()), columns) + "\n"
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := max(rows-2, 1); len(lines) > room {
		rest := fmt.Sprintf("… and %d more lines", len(lines)-room)
		lines = append(lines[:room], view.Clip(rest, columns))
	}
	lines = append(lines, "q quits")
	return goHome + strings.Join(lines, clearLine+"\n") + clearLine + clearBelow
}

// Table formats a view for the terminal or file that w writes to.
func Table(w io.Writer, v view.View, layout view.Layout) string {
	layout.Now, layout.Color = time.Now(), Is(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if screen, isFile := w.(*os.File); isFile {
		if _, columns, ok := sizeOf(screen); ok {
			layout.Width = columns
		}
	}
	return v.Table(layout)
}

// Answer reads one line as the answer to a question. At the end of the input it returns the text
// read so far.
func Answer(ctx context.Context, in io.Reader) (string, error) {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case line := <-answer:
		return line, nil
	}
}
