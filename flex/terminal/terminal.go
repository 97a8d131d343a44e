// Package terminal asks the person at a terminal.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
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

// ReadLine reads a line, or returns when ctx ends. Nothing can be read from in after that.
func ReadLine(ctx context.Context, in *bufio.Reader) (line string, err error) {
	read := make(chan struct{})
	var got string
	var failed error
	go func() {
		defer close(read)
		got, failed = in.ReadString('\n')
	}()
	select {
	case <-read:
		return got, failed
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Answer reads one line as the answer to a question. At the end of the input it returns the text
// read so far.
func Answer(ctx context.Context, in io.Reader) (string, error) {
	line, err := ReadLine(ctx, bufio.NewReader(in))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}
