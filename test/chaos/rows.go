package chaos

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"slurmflex/test/fakegce"
)

// spoil makes one row of a Slurm list unreadable for a while.
type spoil struct {
	list   string // kind of command
	damage damage
	nth    int // row number, counted modulo the list's length
	lasts  time.Duration
}

// damage is what is wrong with a row.
type damage string

// The kinds of damage.
const (
	farTime damage = "has times in the year 11609"
	noTime  damage = "has invalid times"
	short   damage = "breaks off in the middle"
	rubbish damage = "is followed by rubbish"
	nobody  damage = "lacks its name"
	again   damage = "comes twice"
)

func (e spoil) String() string {
	return fmt.Sprintf("the %s row of %s %s, for %v", ordinal(e.nth+1), e.list, e.damage, e.lasts)
}

func (e spoil) strike(w *world, no int) {
	w.rows.set(e.list, &e)
	w.holds("rows of "+e.list, no, e.lasts, func() { w.rows.set(e.list, nil) })
}

// rows holds the spoilt lists of Slurm.
type rows struct {
	mu     sync.Mutex
	spoilt map[string]*spoil
	ended  time.Time // end of the last damage
}

func (r *rows) set(list string, e *spoil) {
	defer locked(&r.mu)()
	if r.spoilt == nil {
		r.spoilt = map[string]*spoil{}
	}
	r.spoilt[list] = e
	if e == nil {
		r.ended = time.Now()
	}
}

// any reports whether a list is spoilt.
func (r *rows) any() bool {
	defer locked(&r.mu)()
	for _, e := range r.spoilt {
		if e != nil {
			return true
		}
	}
	return false
}

// well reports whether no list is spoilt or has been since then.
func (r *rows) well(since time.Time) bool {
	if r.any() {
		return false
	}
	defer locked(&r.mu)()
	return r.ended.Before(since)
}

// print returns a command's output instead of text.
func (r *rows) print(list, text string) []byte {
	defer locked(&r.mu)()
	e := r.spoilt[list]
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	if e == nil || len(lines) == 0 || len(lines) == 1 && e.damage == nobody { // without a name, a single row is not a list
		return []byte(text)
	}
	i := e.nth % len(lines)
	lines[i] = e.damage.of(lines[i])
	return []byte(strings.Join(lines, ""))
}

// shownTime matches a time in a row.
var shownTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown|None|N/A`)

// of returns a damaged row.
func (d damage) of(row string) string {
	switch d {
	case farTime:
		return shownTime.ReplaceAllString(row, "11609-01-01T00:00:00")
	case noTime:
		return shownTime.ReplaceAllString(row, "0000-00-00T99:99:99")
	case short:
		return row[:len(row)/2] + "\n"
	case rubbish:
		return row + "\x1b[31m|%s||NodeName= \xff\n"
	case nobody:
		return strings.TrimLeft(row, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	}
	return row + row
}

// untruth is a wrong statement of a list.
type untruth string

// The untruths.
const (
	namedTwice  untruth = "names what is on its last page twice"
	noLastPage  untruth = "has a next page always"
	pagesInRing untruth = "has pages that follow each other in a ring"
	noCreation  untruth = "has invalid creation times"
	leftOut     untruth = "leaves something out"
	ofNobody    untruth = "shows machines without their group"
	ofAnother   untruth = "shows machines in another group"
	endless     untruth = "has leases end in the year 9999"
	overdue     untruth = "has leases that ended in 1970"
)

// anyList returns the untruths possible in any list. The others concern machines.
func anyList() []untruth {
	return []untruth{namedTwice, namedTwice, noLastPage, pagesInRing, noCreation}
}

// lie makes one of Compute's lists wrong for a while. It affects the records with of in their
// names, or all records if of is empty.
func lie(method string, what untruth, of string, lasts time.Duration) event {
	text := fmt.Sprintf("%s %s (%q), for %v", method, what, of, lasts)
	f := fakegce.Fault{Method: method}
	broken := func(field string, value any) { f.Broken = &fakegce.Broken{Name: of, Field: field, Value: value} }
	leases := func(end string) {
		broken("resourceStatus", map[string]any{"scheduling": map[string]any{"terminationTimestamp": end}})
	}
	switch what {
	case namedTwice:
		f.Doubled = true
	case noLastPage:
		f.Endless = fakegce.AlwaysNew
	case pagesInRing:
		f.Endless = fakegce.Alternating
	case noCreation:
		broken("creationTimestamp", "yesterday")
	case leftOut:
		f.Omitted = of
	case ofNobody:
		broken("metadata", nil)
	case ofAnother:
		const group = "projects/1/regions/us-central1/instanceGroupManagers/alpha-gang-job-900004"
		broken("metadata", map[string]any{"items": []any{map[string]any{"key": "created-by", "value": group}}})
	case endless:
		leases("9999-12-31T23:59:59Z")
	case overdue:
		leases("1970-01-01T00:00:00Z")
	}
	if what == ofNobody || what == ofAnother { // these lies are believed by a daemon that has no other information
		text += "; the daemon is stopped, and started"
		return happening{text, func(w *world, no int) {
			w.arm(no, lasts, f)
			w.main.restart(0)
		}}
	}
	return happening{text, func(w *world, no int) { w.arm(no, lasts, f) }}
}

// randomLie returns a random lie. Lists omit machines for only a few passes, because Compute's
// do so only while they lag.
func (d dice) randomLie(i int, node string, lasts func(least, most int) time.Duration) event {
	const machines = "instances.list"
	method := pick(d, append(lists(), machines, machines), "list of lies", i)
	of, takes := pick(d, []string{"", node}, "of", i), lasts(1, 15)
	what := pick(d, anyList(), "untruth", i)
	if method == machines {
		what = pick(d, append(anyList(), leftOut, leftOut, ofNobody, ofNobody, ofAnother, endless, overdue), "untruth", i)
	}
	if what == leftOut {
		of, takes = node, d.span(5*time.Second, 90*time.Second, "left out", i).Truncate(time.Second)
	}
	return lie(method, what, of, takes)
}
