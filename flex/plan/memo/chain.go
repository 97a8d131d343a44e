package memo

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Chain is what the end of a job's AdminComment remembers of a job that may move between
// the partitions that it was submitted to.
type Chain struct {
	List    []string // those partitions, in its owner's order
	Moved   Move     // its last move; zero: none, so that Slurm has the whole list
	Leaving Move     // the one that has begun, of which At is zero; zero: none
}

// Move is a job's from a partition in which no machines came for it.
type Move struct {
	From   string
	To     []string // what Slurm has as its list from then on
	Waited time.Duration
	At     time.Time
}

// InSlurm is the list that Slurm has of the job, as far as its last move says.
func (c Chain) InSlurm() []string {
	if c.Moved.To != nil {
		return c.Moved.To
	}
	return c.List
}

// chainMost is the longest list of partitions, in bytes, that is remembered: Slurm's
// AdminComment is to have room for three of them, and for a text.
const chainMost = 100

// Fits reports whether a list of partitions can be remembered.
func Fits(list []string) bool { return len(strings.Join(list, ",")) <= chainMost }

const chainOpens = "[partitions "

// String is the chain as an AdminComment ends with it; empty for a job that has none.
func (c Chain) String() string {
	if len(c.List) == 0 {
		return ""
	}
	text := chainOpens + strings.Join(c.List, ",")
	if c.Moved.To != nil {
		text += "; " + c.Moved.String() + " at " + c.Moved.At.UTC().Format(time.RFC3339)
	}
	if c.Leaving.To != nil {
		text += "; leaving " + c.Leaving.From + " after " + wait(c.Leaving.Waited) + " for " + strings.Join(c.Leaving.To, ",")
	}
	return text + "]"
}

// String says where the job went, and why.
func (m Move) String() string {
	return "moved to " + strings.Join(m.To, ",") + " after " + wait(m.Waited) + " in " + m.From
}

// wait is a duration in whole seconds without zeroes at its end: 2h, 1h30m.
func wait(d time.Duration) string {
	text := d.Truncate(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

var chainForm = func() *regexp.Regexp {
	const name = `[A-Za-z0-9_][A-Za-z0-9._-]*`
	const names = `(` + name + `(?:,` + name + `)*)`
	return regexp.MustCompile(`^\[partitions ` + names +
		`(?:; moved to ` + names + ` after (\S+) in (` + name + `) at (\S+))?` +
		`(?:; leaving (` + name + `) after (\S+) for ` + names + `)?\]$`)
}()

// parseChain reads what String has written, and nothing else: partitions of the list,
// each once.
func parseChain(text string) (c Chain, ok bool) {
	m := chainForm.FindStringSubmatch(text)
	if m == nil {
		return Chain{}, false
	}
	c.List = strings.Split(m[1], ",")
	var errs [3]error
	if m[2] != "" {
		c.Moved.To, c.Moved.From = strings.Split(m[2], ","), m[4]
		c.Moved.Waited, errs[0] = time.ParseDuration(m[3])
		c.Moved.At, errs[1] = time.Parse(time.RFC3339, m[5])
	}
	if m[6] != "" {
		c.Leaving.From, c.Leaving.To = m[6], strings.Split(m[8], ",")
		c.Leaving.Waited, errs[2] = time.ParseDuration(m[7])
	}
	known := slices.Clone(c.List)
	slices.Sort(known)
	within := func(names []string) bool {
		for _, name := range names {
			if _, found := slices.BinarySearch(known, name); !found {
				return false
			}
		}
		return true
	}
	if len(slices.Compact(known)) != len(c.List) || !Fits(c.List) || !within(c.Moved.To) || !within(c.Leaving.To) || errs != [3]error{} || c.String() != text {
		return Chain{}, false
	}
	return c, true
}

// maxComment is how much of an AdminComment slurm/scontrol writes, in bytes.
const maxComment = 500

// WithChain is the AdminComment of that text and chain. The text is cut where there is no
// room for it.
func WithChain(text string, c Chain) string {
	chain := c.String()
	if chain == "" {
		return text
	}
	if text == "" {
		text = OwnComment
	}
	if room := maxComment - len(chain) - 1; len(text) > room {
		text = strings.ToValidUTF8(text[:room], "")
	}
	return strings.TrimSuffix(text, " ") + " " + chain
}

// SplitChain parts an AdminComment of ours into its text and its chain. Another is
// returned as it is.
func SplitChain(comment string) (text string, c Chain) {
	at := strings.LastIndex(comment, chainOpens)
	if at <= 0 || !IsOurs(comment) {
		return comment, Chain{}
	}
	c, ok := parseChain(comment[at:])
	if !ok {
		return comment, Chain{}
	}
	if text = strings.TrimSuffix(comment[:at], " "); text+" " == OwnComment {
		text = ""
	}
	return text, c
}
