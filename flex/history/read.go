package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// lineSize is about how long a line is, in bytes.
const lineSize = 400

// maxLine bounds a line, in bytes; what is longer is none of ours.
const maxLine = 1 << 20

// Path is the file that lines are appended to.
func Path(dir, cluster string) string { return filepath.Join(dir, "history-"+cluster+".jsonl") }

// Tally is what a reading came to.
type Tally struct {
	Entries  int // that were taken
	Bad      int // lines that are no entry of a version that is known
	Repeated int // lines whose entry was there before
	Ongoing  int // of the entries, those that have not ended
}

// Read calls take for each entry of the kind that is in the cluster's file and in
// those that logrotate has made of it, also compressed ones; the oldest file comes
// first. What take gets is its own only until it returns. Bad lines are passed
// over and counted, a last line without its end is passed over. No file is no
// entry. What has not ended comes last, as a pass saw it no more than some minutes
// ago. The error names a file or folder that cannot be read.
func Read(dir, cluster string, kind Kind, take func(*Entry)) (Tally, error) {
	var tally Tally
	files, err := filesOf(Path(dir, cluster))
	if err != nil {
		return tally, err
	}
	lines := 0
	for _, f := range files {
		lines += int(f.size / lineSize)
	}
	r := reader{kind: kind, take: take, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{}, lines/2), tally: &tally}
	for _, f := range files {
		if err := r.file(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been rotated away
			return tally, fmt.Errorf("read the history: %w", err)
		}
	}
	ongoing, err := ongoing(dir, cluster, kind)
	if err != nil {
		tally.Bad++ // it is a part only, and soon written again
	}
	for i := range ongoing {
		if r.enter(&ongoing[i]) {
			tally.Ongoing++
		}
	}
	return tally, nil
}

// file is one of a cluster's.
type file struct {
	name    string
	size    int64 // bytes
	changed time.Time
}

// filesOf are the file and what logrotate has made of it, the oldest first.
func filesOf(path string) (files []file, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), filepath.Base(path)) {
			files = append(files, file{filepath.Join(filepath.Dir(path), e.Name()), info.Size(), info.ModTime()})
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return a.changed.Compare(b.changed) })
	return files, nil
}

// reader reads files one after the other.
type reader struct {
	kind  Kind
	take  func(*Entry)
	seed  maphash.Seed
	seen  map[uint64]struct{} // hashes of the IDs so far; two that are alike by chance are one in 10^13 at a million
	tally *Tally

	decoder decoder
	entry   Entry
}

func (r *reader) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var from io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		from = unpacked
	}
	if err := r.lines(from); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *reader) lines(from io.Reader) error {
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == nil:
			r.line(line[:len(line)-1])
			continue
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // what is left of a line, or of a packed file
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		r.tally.Bad++
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
	}
}

// otherKind is how lines begin that are of the other kind and ours.
var otherKind = map[Kind][]byte{Wait: []byte(`{"v":1,"kind":"lease",`), Lease: []byte(`{"v":1,"kind":"wait",`)}

func (r *reader) line(line []byte) {
	if len(line) == 0 || bytes.HasPrefix(line, otherKind[r.kind]) {
		return
	}
	switch err := r.decoder.decode(line, &r.entry); {
	case err != nil:
		r.tally.Bad++
		return
	case r.entry.Kind != r.kind:
		return
	}
	if !r.enter(&r.entry) {
		r.tally.Repeated++
	}
}

// enter takes an entry, unless one of its ID was taken before.
func (r *reader) enter(e *Entry) (isNew bool) {
	key := maphash.String(r.seed, e.ID)
	if _, again := r.seen[key]; again {
		return false
	}
	r.seen[key] = struct{}{}
	r.tally.Entries++
	r.take(e)
	return true
}
