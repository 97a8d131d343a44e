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
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// journal is the log of a day.
type journal struct {
	begun time.Time

	mu    sync.Mutex
	lines []entry
}

// entry is one event in the journal.
type entry struct {
	at   time.Duration // since the start of the day
	text string
}

// requestID matches the only random part of a text.
var requestID = regexp.MustCompile(`"clientOperationId\\*":\\*"[0-9a-f-]*`)

func (j *journal) note(format string, args ...any) {
	e := entry{time.Since(j.begun), fmt.Sprintf(format, args...)}
	if strings.Contains(e.text, "clientOperationId") {
		e.text = requestID.ReplaceAllString(e.text, "a request's id")
	}
	defer locked(&j.mu)()
	j.lines = append(j.lines, e)
}

// sorted returns the entries in order of time. Entries of the same instant are sorted by text.
func (j *journal) sorted() []entry {
	defer locked(&j.mu)()
	lines := slices.Clone(j.lines)
	slices.SortFunc(lines, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	return lines
}

// digest returns a hash that is equal for two days with the same events at the same times.
func (j *journal) digest() string {
	h := sha256.New()
	for _, e := range j.sorted() {
		fmt.Fprintln(h, int64(e.at), e.text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// write writes the entries, one per line.
func (j *journal) write(out io.Writer) error {
	for _, e := range j.sorted() {
		if _, err := fmt.Fprintf(out, "%s %s\n", clock(e.at), e.text); err != nil {
			return err
		}
	}
	return nil
}

// clock formats a time of the day as +01:02:03.
func clock(d time.Duration) string {
	d = d.Truncate(time.Second)
	return fmt.Sprintf("+%02d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// log returns a process's logger. Its lines become entries of the journal.
func (j *journal) log(process string) *zap.Logger {
	form := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		LevelKey: "level", EncodeLevel: zapcore.LowercaseLevelEncoder, MessageKey: "message",
		EncodeTime: zapcore.RFC3339TimeEncoder, EncodeDuration: zapcore.StringDurationEncoder, ConsoleSeparator: " ",
	})
	return zap.New(zapcore.NewCore(form, zapcore.AddSync(logged{j, process}), zapcore.InfoLevel))
}

// logged writes the lines of a process's log to the journal.
type logged struct {
	journal *journal
	process string
}

func (l logged) Write(line []byte) (int, error) {
	l.journal.note("%s: %s", l.process, strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// kind is what an invariant guards against.
type kind string

// The kinds.
const (
	overScale     kind = "over-scale"
	orphan        kind = "orphans"
	wrongKill     kind = "wrong kills"
	lostJob       kind = "lost jobs"
	foreignChange kind = "foreign changes"
	stall         kind = "stalls"
)

// violation is a broken invariant.
type violation struct {
	kind kind
	at   time.Duration // since the start of the day
	text string        // a sentence
}

func (v violation) String() string { return fmt.Sprintf("%s: %s %s", v.kind, clock(v.at), v.text) }

// tally counts days, and those with a violation.
type tally struct{ days, broken atomic.Int64 }

func (t *tally) add(o outcome) {
	t.days.Add(1)
	if o.failed {
		t.broken.Add(1)
	}
}

// String returns the summary, which is the last line of a run.
func (t *tally) String() string {
	return fmt.Sprintf("chaos: %d seeds, %d violations", t.days.Load(), t.broken.Load())
}

// report describes a day that broke: the invariant, the shortest script, and how to replay the
// day.
func report(out io.Writer, d day, o outcome) {
	text := &strings.Builder{}
	fmt.Fprintf(text, "seed %d breaks an invariant: %v\n", d.seed, o.violation)
	for _, a := range d.script {
		fmt.Fprintf(text, "  %v\n", a)
	}
	numbers := strings.ReplaceAll(strings.Trim(fmt.Sprint(d.numbers()), "[]"), " ", ",")
	fmt.Fprintf(text, "replay it: go test ./test/chaos -run '^TestChaos$' -count=1 -seed=%d -keep=%s -journal=/tmp/day\n",
		d.seed, numbers)
	_, _ = io.WriteString(out, text.String()) // one write, because days run in parallel
}
