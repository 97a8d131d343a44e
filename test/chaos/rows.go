package chaos

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// spoil has a row of one of Slurm's lists be such that it cannot be read, for a
// while.
type spoil struct {
	list   string // a kind of command
	damage damage
	nth    int // of the list's rows, counted around
	lasts  time.Duration
}

// damage is what is wrong with a row.
type damage string

// What may be wrong with a row.
const (
	farTime damage = "has times in the year 11609"
	noTime  damage = "has times that are none"
	short   damage = "breaks off in the middle"
	rubbish damage = "is followed by one that is none"
	nobody  damage = "does not say whose it is"
	again   damage = "comes twice"
)

func damages() []damage { return []damage{farTime, noTime, short, rubbish, nobody, again} }

// rowLists are the commands that print a list.
func rowLists() []string { return []string{"squeue", "show nodes", "show reservations"} }

func (e spoil) String() string {
	return fmt.Sprintf("the %s row of %s %s, for %v", ordinal(e.nth+1), e.list, e.damage, e.lasts)
}

func (e spoil) strike(w *world, no int) {
	w.rows.set(e.list, &e)
	w.holds("rows of "+e.list, no, e.lasts, func() { w.rows.set(e.list, nil) })
}

// rows knows which lists of Slurm's are spoilt.
type rows struct {
	mu     sync.Mutex
	spoilt map[string]*spoil
}

func (r *rows) set(list string, e *spoil) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spoilt == nil {
		r.spoilt = map[string]*spoil{}
	}
	r.spoilt[list] = e
}

// any reports whether some list is spoilt.
func (r *rows) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.spoilt {
		if e != nil {
			return true
		}
	}
	return false
}

// print is what a command prints where it should print text.
func (r *rows) print(list, text string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.spoilt[list]
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	if e == nil || len(lines) == 0 || len(lines) == 1 && e.damage == nobody { // output without a name is no list
		return []byte(text)
	}
	i := e.nth % len(lines)
	lines[i] = e.damage.of(lines[i])
	return []byte(strings.Join(lines, ""))
}

// shownTime is a time in a row.
var shownTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown|None|N/A`)

// of is a row with the damage.
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
