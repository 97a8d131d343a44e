package history

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"runtime"
	"slices"
)

// chunkSize is about how much of a file is decoded at a time, in bytes.
const chunkSize = 256 << 10

// maxWorkers bounds how many chunks are decoded side by side. One goroutine takes the
// entries of all, and keeps up with no more.
const maxWorkers = 8

// chunk is some whole lines of a file, and what they say.
type chunk struct {
	text    []byte
	entries []keyed // of the kind that is read
	bad     int     // lines that are no entry
	decoded chan struct{}
}

// keyed is an entry with the hash of its ID.
type keyed struct {
	Entry
	key uint64
}

// readChunks reads a text to its end, has copies of a new decoder decode its chunks side
// by side, and calls take for each in the order of the text. A last line without its end
// is passed over.
func readChunks(from io.Reader, size int, d chunkDecoder, take func(*chunk)) error {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	free, ordered, work := make(chan *chunk, 2*workers), make(chan *chunk, 2*workers), make(chan *chunk, 2*workers)
	for range cap(free) {
		free <- &chunk{decoded: make(chan struct{}, 1)}
	}
	for range workers {
		go func() {
			d := d
			for c := range work {
				d.decode(c)
				c.decoded <- struct{}{}
			}
		}()
	}
	cut := cutter{from: from, size: size}
	go func() {
		defer close(ordered)
		defer close(work)
		for c := range free {
			if !cut.next(c) {
				return
			}
			work <- c
			ordered <- c
		}
	}()
	for c := range ordered {
		<-c.decoded
		take(c)
		free <- c
	}
	return cut.err
}

// cutter cuts a text into chunks at the ends of lines.
type cutter struct {
	from io.Reader
	size int // bytes that are read at once

	rest  []byte // what follows the last chunk: the beginning of a line
	long  bool   // what is read next is of a line that is too long
	ended bool
	err   error // why the text could not be read to its end
}

// next is the next chunk. It reports false after the last one.
func (k *cutter) next(c *chunk) bool {
	c.text, c.bad = append(c.text[:0], k.rest...), 0
	k.rest = k.rest[:0]
	for !k.ended {
		known := len(c.text) // without the end of a line
		c.text = slices.Grow(c.text, k.size)[:known+k.size]
		n, err := io.ReadFull(k.from, c.text[known:])
		c.text = c.text[:known+n]
		if err != nil {
			k.ended = true
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // which is also that of a packed file that is cut short
				k.err = err
			}
		}
		if k.long {
			end := bytes.IndexByte(c.text, '\n') + 1
			if end == 0 {
				end = len(c.text)
			} else {
				k.long = false
			}
			c.text, known = append(c.text[:0], c.text[end:]...), 0
		}
		if end := bytes.LastIndexByte(c.text[known:], '\n') + 1; end > 0 {
			k.rest = append(k.rest, c.text[known+end:]...)
			c.text = c.text[:known+end]
			return true
		}
		if len(c.text) >= maxLine {
			c.text, k.long = c.text[:0], true
			c.bad++
		}
	}
	if len(c.text) >= maxLine { // the rest of the chunk before
		c.bad++
	}
	c.text = c.text[:0]
	return c.bad > 0
}

// chunkDecoder decodes the lines of chunks.
type chunkDecoder struct {
	kind    Kind
	seed    maphash.Seed
	decoder decoder
}

// otherKind is how lines begin that are of the other kind and ours.
var otherKind = map[Kind][]byte{Wait: []byte(`{"v":1,"kind":"lease",`), Lease: []byte(`{"v":1,"kind":"wait",`)}

// decode decodes the lines of a chunk. It uses the memory of the entries that the
// chunk had before.
func (d *chunkDecoder) decode(c *chunk) {
	other := otherKind[d.kind]
	entries, n, last := c.entries[:cap(c.entries)], 0, &Entry{}
	for line := range bytes.Lines(c.text) {
		if line = line[:len(line)-1]; len(line) == 0 || bytes.HasPrefix(line, other) {
			continue
		}
		if n == len(entries) {
			entries = append(entries, keyed{})
			entries = entries[:cap(entries)]
		}
		e := &entries[n]
		switch {
		case len(line) >= maxLine || d.decoder.decode(line, &e.Entry, last) != nil:
			c.bad++
		case e.Kind == d.kind:
			e.key = maphash.String(d.seed, e.ID)
			last = &e.Entry
			n++
		}
	}
	c.entries = entries[:n]
}
