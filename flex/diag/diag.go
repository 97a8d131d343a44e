// Package diag collects what a bug report needs into one archive.
package diag

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// The limits of each part.
const (
	timeLimit = time.Minute
	sizeLimit = 16 << 20 // bytes
)

// Part is one file of an archive.
type Part struct {
	Name  string
	About string

	// Read returns the text. It may return an error beside an incomplete text.
	Read func(context.Context) ([]byte, error)
}

// Index lists what an archive holds and what is missing.
type Index struct {
	Title string
	lines []string
}

// String returns a line for each part.
func (i *Index) String() string { return i.Title + "\n" + strings.Join(i.lines, "\n") + "\n" }

// add adds the line of a part.
func (i *Index) add(p Part, text []byte, err error) {
	line := fmt.Sprintf("%-22s %9d bytes  %s", p.Name, len(text), p.About)
	if len(text) == 0 {
		line = fmt.Sprintf("%-22s %15s  %s", p.Name, "not included", p.About)
	}
	if err != nil {
		line += ": " + strings.Join(strings.Fields(clip(err.Error())), " ")
	}
	i.lines = append(i.lines, line)
}

// errorLimit is the longest error in an index, in bytes.
const errorLimit = 300

func clip(text string) string {
	if len(text) <= errorLimit {
		return text
	}
	return strings.ToValidUTF8(text[:errorLimit], "") + " …"
}

// Write reads the parts one after the other and writes an archive of them without secrets. The
// archive's first file is its index, and Write adds a line to it for each part.
func Write(ctx context.Context, w io.Writer, index *Index, parts []Part, now time.Time) error {
	texts := make([][]byte, len(parts))
	for i, p := range parts {
		texts[i] = read(ctx, index, p)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	put := func(name string, text []byte) error {
		err := archive.WriteHeader(&tar.Header{Name: "slurmflex-diag/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: now})
		if err == nil {
			_, err = archive.Write(text)
		}
		return err
	}
	err := put("INDEX.txt", []byte(index.String()))
	for i, p := range parts {
		if err == nil && len(texts[i]) > 0 {
			err = put(p.Name, texts[i])
		}
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = packed.Close()
	}
	return err
}

// read reads a part within its bounds.
func read(ctx context.Context, index *Index, p Part) []byte {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("no end within %s", timeLimit))
	defer cancel()
	text, err := p.Read(ctx)
	text = scrub(text)
	if more := len(text) - sizeLimit; more > 0 {
		text, err = text[:sizeLimit], fmt.Errorf("cut: %d more bytes", more)
	}
	if err != nil {
		err = fmt.Errorf("%s", scrub([]byte(err.Error())))
	}
	index.add(p, text, err)
	return text
}
