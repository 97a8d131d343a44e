package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// maxLine is the maximum length of a line, in bytes. slurmflex never writes longer lines.
const maxLine = 1 << 20

// linesPath returns the file for new lines.
func linesPath(dir, cluster string) string { return filepath.Join(dir, "history-"+cluster+".jsonl") }

// Tally counts the results of a read.
type Tally struct {
	Entries int // accepted entries
	Bad     int // lines that are not valid entries of a known version
}

// ErrNone is the error of a command that needs a history if none has been recorded.
var ErrNone = errors.New("no history")

// ReadForCommand is Read for a command: its error names the fix. A history without entries of the
// cluster is an error, too (ErrNone).
func ReadForCommand(dir, cluster string, kind Kind, take func(*Entry)) (Tally, error) {
	tally, err := Read(dir, cluster, kind, take)
	switch {
	case err != nil:
		return tally, fmt.Errorf("%w; where Slurm hides jobs from other users (PrivateData), run it as SlurmUser", err)
	case tally.Entries > 0:
		return tally, nil
	}
	unread := ""
	if tally.Bad > 0 {
		unread = ", and " + view.Count(tally.Bad, "line") + " that cannot be read"
	}
	return tally, fmt.Errorf("%w in %s: it has nothing of cluster %s yet%s; run this command where the daemon runs, after a job has had "+
		"machines, or correct slurmflex.state_dir", ErrNone, dir, cluster, unread)
}

// Read calls take for each entry of the given kind, in the cluster's file and in the files that
// logrotate has made from it, including compressed ones. The oldest file is read first. Bad lines
// are skipped and counted. A last line without its end is skipped. A missing file has no entries.
// Ongoing entries are last, as observed by a pass at most some minutes ago. The error names a file
// or folder that cannot be read.
func Read(dir, cluster string, kind Kind, take func(*Entry)) (Tally, error) {
	r := newReader(kind, take)
	if err := r.files(linesPath(dir, cluster)); err != nil {
		return r.tally, err
	}
	m, err := load(dir, cluster)
	if err != nil {
		r.tally.Bad++ // the file is incomplete, and soon rewritten
	}
	for _, e := range m.ongoing(0) {
		r.enter(&e, take)
	}
	return r.tally, nil
}

// filesOf lists the file and its rotated copies, oldest first.
func filesOf(path string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), filepath.Base(path)) {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		names = append(names, filepath.Join(filepath.Dir(path), info.Name()))
	}
	return names, nil
}

// reader reads files one after another.
type reader struct {
	kind  Kind                    // of the lines that are decoded
	line  func(text []byte) error // decodes a line of that kind, or of an unknown one
	seen  map[string]bool         // the IDs so far
	tally Tally
}

// newReader returns a reader that calls take for each entry of a kind.
func newReader(kind Kind, take func(*Entry)) *reader {
	r := &reader{kind: kind, seen: map[string]bool{}}
	r.line = func(text []byte) error {
		var e Entry
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		if err := e.check(); err != nil {
			return err
		}
		r.enter(&e, take)
		return nil
	}
	return r
}

// files reads a file and its rotated copies, oldest first.
func (r *reader) files(path string) error {
	files, err := filesOf(path)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := r.file(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been rotated away
			return fmt.Errorf("read the history: %w", err)
		}
	}
	return nil
}

func (r *reader) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := r.lines(bufio.NewReaderSize(text, maxLine)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// lines takes the entries of a text up to its last complete line. A truncated compressed file ends
// where it was cut.
func (r *reader) lines(text *bufio.Reader) error {
	tooLong := false
	for {
		line, err := text.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			tooLong = true
			continue
		case tooLong:
			r.tally.Bad++
			tooLong = false
		case err == nil && len(line) > 1 && !r.isOther(line):
			if r.line(line[:len(line)-1]) != nil {
				r.tally.Bad++
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isOther reports whether a line starts as the valid lines of another kind do.
func (r *reader) isOther(line []byte) bool {
	for _, kind := range []Kind{Wait, Lease, Job} {
		if kind != r.kind && bytes.HasPrefix(line, []byte(`{"v":1,"kind":"`+kind+`",`)) {
			return true
		}
	}
	return false
}

// enter takes an entry of the reader's kind, unless its ID was taken before.
func (r *reader) enter(e *Entry, take func(*Entry)) {
	if e.Kind == r.kind && r.isNew(e.ID) {
		r.tally.Entries++
		take(e)
	}
}

// isNew reports whether the ID was not taken before.
func (r *reader) isNew(id string) bool {
	again := r.seen[id]
	r.seen[id] = true
	return !again
}

// BadHosts returns a function that finds, by physical host, the last machine that failed its health
// check there. It leaves out leases that ended before since, and what it cannot read.
func BadHosts(dir, cluster string) func(since time.Time) map[string]scene.BadHost {
	return func(since time.Time) map[string]scene.BadHost {
		bad := map[string]scene.BadHost{}
		_, _ = Read(dir, cluster, Lease, func(e *Entry) {
			if at := e.To.Time(); e.Host != "" && e.Unhealthy != "" && !at.Before(since) {
				bad[e.Host] = scene.BadHost{Node: e.Node, Why: e.Unhealthy, At: at}
			}
		})
		return bad
	}
}
