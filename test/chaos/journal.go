package chaos

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// journal is what happened in a day.
type journal struct {
	begun time.Time

	mu    sync.Mutex
	lines []entry
}

// entry is one thing that happened.
type entry struct {
	at   time.Duration // since the day began
	text string
}

// requestID is the one thing in a text that chance has made.
var requestID = regexp.MustCompile(`"clientOperationId\\*":\\*"[0-9a-f-]*`)

func (j *journal) note(format string, args ...any) {
	e := entry{time.Since(j.begun), fmt.Sprintf(format, args...)}
	if strings.Contains(e.text, "clientOperationId") {
		e.text = requestID.ReplaceAllString(e.text, "a request's id")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, e)
}

// sorted are the entries in the order of time. What is noted at one instant has
// no order of its own.
func (j *journal) sorted() []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := slices.Clone(j.lines)
	slices.SortFunc(lines, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	return lines
}

// digest is the same for two days in which the same things happened at the same
// times.
func (j *journal) digest() string {
	h := sha256.New()
	for _, e := range j.sorted() {
		fmt.Fprintln(h, int64(e.at), e.text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// write writes the entries, one a line.
func (j *journal) write(out io.Writer) error {
	for _, e := range j.sorted() {
		if _, err := fmt.Fprintf(out, "%s %s\n", clock(e.at), e.text); err != nil {
			return err
		}
	}
	return nil
}

// clock writes a time of the day as in +01:02:03.
func clock(d time.Duration) string {
	d = d.Truncate(time.Second)
	return fmt.Sprintf("+%02d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}
