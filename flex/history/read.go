package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
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
	return ReadSince(dir, cluster, kind, 0, take)
}

// ReadSince is Read for the entries that ended at from or later; it may take some that
// ended before. It looks for the first of them by halves, because lines are appended as
// things end, and so reads little of a long history: only Read is sure to find also what
// was appended out of order.
func ReadSince(dir, cluster string, kind Kind, from Time, take func(*Entry)) (Tally, error) {
	var tally Tally
	files, err := filesOf(Path(dir, cluster))
	if err != nil {
		return tally, err
	}
	files = slices.DeleteFunc(files, func(f file) bool { return At(f.changed) < from-slack })
	lines := 0 // 0: it is not known how many will be read
	for _, f := range files {
		if from == 0 {
			lines += int(f.size / lineSize)
		}
	}
	r := reader{kind: kind, from: from, take: take, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{}, lines/2), tally: &tally}
	for _, f := range files {
		if err := r.file(f); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been rotated away
			return tally, fmt.Errorf("read the history: %w", err)
		}
	}
	ongoing, err := ongoing(dir, cluster, kind)
	if err != nil {
		tally.Bad++ // it is a part only, and soon written again
	}
	for i := range ongoing {
		if r.enter(&ongoing[i], maphash.String(r.seed, ongoing[i].ID)) {
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
	from  Time
	take  func(*Entry)
	seed  maphash.Seed
	seen  map[uint64]struct{} // hashes of the IDs so far; two that are alike by chance are one in 10^13 at a million
	tally *Tally
}

func (r *reader) file(is file) error {
	f, err := os.Open(is.name)
	if err != nil {
		return err
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(is.name, ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", is.name, err)
		}
	} else if r.from > 0 {
		begin := r.begin(f, is.size)
		text = io.NewSectionReader(f, begin, math.MaxInt64-begin)
	}
	if err := readChunks(text, chunkSize, chunkDecoder{kind: r.kind, seed: r.seed}, r.chunk); err != nil {
		return fmt.Errorf("%s: %w", is.name, err)
	}
	return nil
}

// slack is how much earlier than they ended entries may be looked for, in seconds: a
// pass sees late what has ended, and clocks differ.
const slack = Time(24 * time.Hour / time.Second)

// probe is how much of a file is looked at in one place, in bytes.
const probe = 64 << 10

// begin is a place in a file before which nothing has ended at the reader's from or
// later. A line begins there.
func (r *reader) begin(f io.ReaderAt, size int64) int64 {
	var before, found int64 // all that precedes found ended earlier
	text := make([]byte, probe)
	for after := size; after-before > probe; {
		middle := before + (after-before)/2
		n, _ := f.ReadAt(text, middle)
		first := bytes.IndexByte(text[:n], '\n') + 1
		if last := lastEnd(text[first:n]); last == 0 || last >= r.from-slack {
			after = middle
			continue
		}
		before, found = middle, middle+int64(first)
	}
	return found
}

// lastEnd is when the last of some lines' entries ended; 0 if they have none.
func lastEnd(text []byte) (last Time) {
	var d decoder
	var e, before Entry
	for line := range bytes.Lines(text) {
		if line, whole := bytes.CutSuffix(line, []byte{'\n'}); whole && d.decode(line, &e, &before) == nil {
			last = max(last, e.To)
		}
	}
	return last
}

// chunk takes the entries of some lines.
func (r *reader) chunk(c *chunk) {
	r.tally.Bad += c.bad
	for i := range c.entries {
		if !r.enter(&c.entries[i].Entry, c.entries[i].key) {
			r.tally.Repeated++
		}
	}
}

// enter takes an entry, unless one of its ID was taken before. The key is the hash of
// the ID.
func (r *reader) enter(e *Entry, key uint64) (isNew bool) {
	if _, again := r.seen[key]; again {
		return false
	}
	r.seen[key] = struct{}{}
	r.tally.Entries++
	r.take(e)
	return true
}
