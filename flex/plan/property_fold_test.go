package plan_test

import (
	"fmt"
	"slices"
	"strings"
)

// axis is one thing that a combination is made of, with its values.
type axis struct {
	name   string
	values []string
}

// flag is the axis of a flag of a node's state.
func flag(name string) axis { return axis{name, []string{"no", "yes"}} }

// combinations is how many there are of one value of each axis.
func combinations(axes []axis) int {
	n := 1
	for _, a := range axes {
		n *= len(a.values)
	}
	return n
}

// combination is the i-th one: the last axis goes around the fastest.
func combination(axes []axis, i int) []string {
	values := make([]string, len(axes))
	for at := len(axes) - 1; at >= 0; at-- {
		n := len(axes[at].values)
		values[at] = axes[at].values[i%n]
		i /= n
	}
	return values
}

// folded is the answer to all combinations that its conditions describe, one for
// each axis: some of its values, or nothing if it makes no difference.
type folded struct {
	conditions []string
	answer     string
}

// fold writes the answers to all combinations as few lines: values of an axis
// that make no difference to anything after it share a line.
func fold(axes []axis, answers []string) []folded {
	if len(axes) == 0 {
		return []folded{{nil, answers[0]}}
	}
	size := len(answers) / len(axes[0].values)
	var classes [][]string // of answers
	var members [][]string // the values that have them
	for i, value := range axes[0].values {
		part := answers[i*size : (i+1)*size]
		at := slices.IndexFunc(classes, func(c []string) bool { return slices.Equal(c, part) })
		if at < 0 {
			at = len(classes)
			classes, members = append(classes, part), append(members, nil)
		}
		members[at] = append(members[at], value)
	}
	var lines []folded
	for i, part := range classes {
		condition := ""
		if len(classes) > 1 {
			condition = strings.Join(members[i], "|")
		}
		for _, line := range fold(axes[1:], part) {
			line.conditions = append([]string{condition}, line.conditions...)
			lines = append(lines, line)
		}
	}
	return lines
}

// table lays lines out under the axes' names, each line with its answer at its
// end; head stands over the answers.
func table(axes []axis, lines []folded, head string) string {
	widths := make([]int, len(axes))
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i], widths[i] = a.name, len(a.name)
		for _, line := range lines {
			widths[i] = max(widths[i], len(line.conditions[i]))
		}
	}
	text := ""
	for _, line := range append([]folded{{names, head}}, lines...) {
		row := ""
		for i, condition := range line.conditions {
			row += fmt.Sprintf("%-*s  ", widths[i], condition)
		}
		text += strings.TrimRight(row+line.answer, " ") + "\n"
	}
	return text
}
