package chaos

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// tally counts days and what was found in them.
type tally struct {
	mu    sync.Mutex
	days  int
	found map[kind]int
}

func (t *tally) add(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.days++
	if o.failed {
		if t.found == nil {
			t.found = map[kind]int{}
		}
		t.found[o.violation.kind]++
	}
}

// String is the summary: the last line of a run.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := 0
	var parts []string
	for _, k := range kinds() {
		total += t.found[k]
		parts = append(parts, fmt.Sprintf("%s %d", k, t.found[k]))
	}
	return fmt.Sprintf("chaos: %d seeds, %d violations (%s)", t.days, total, strings.Join(parts, ", "))
}

// report says of a day that broke: the invariant, the script that it takes,
// and how to see it again.
func report(out io.Writer, d day, o outcome) {
	text := &strings.Builder{}
	fmt.Fprintf(text, "seed %d breaks an invariant: %v\n", d.seed, o.violation)
	for _, a := range d.script {
		fmt.Fprintf(text, "  %v\n", a)
	}
	numbers := make([]string, len(d.script))
	for i, n := range d.numbers() {
		numbers[i] = strconv.Itoa(n)
	}
	fmt.Fprintf(text, "replay it: go test ./test/chaos -run '^TestChaos$' -count=1 -seed=%d -keep=%s -journal=/tmp/day\n",
		d.seed, strings.Join(numbers, ","))
	_, _ = io.WriteString(out, text.String()) // one write, for days run side by side
}
