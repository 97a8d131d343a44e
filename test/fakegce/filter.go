package fakegce

import (
	"cmp"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	regexpExpression = regexp.MustCompile(`^\s*([A-Za-z.]+)\s+(eq|ne)\s+(.+?)\s*$`)
	regexpFactor     = regexp.MustCompile(`^\s*\(\s*([A-Za-z.]+)\s+(eq|ne)\s+("[^"]*"|'[^']*'|[^()\s]+)\s*\)`)
	quotedLiteral    = regexp.MustCompile(`^("[^"]*"|'[^']*')$`)
	comparisonWord   = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|!=|<=|>=|[=<>:()]|-?[^\s"'!=<>:()]+)`)
	comparisonSign   = regexp.MustCompile(`^(=|!=|<|<=|>|>=|:)$`)
	escape           = regexp.MustCompile(`\\(.)`)
)

// predicate says whether a resource (a pointer to an API struct) matches.
type predicate func(reflect.Value) bool

// parseFilter reads a list's filter for items of type t, in either of the two
// forms that Compute has: comparisons as of AIP-160, or eq and ne with a
// regular expression. It refuses what it does not understand.
func parseFilter(filter string, t reflect.Type) (predicate, error) {
	if strings.TrimSpace(filter) == "" {
		return func(reflect.Value) bool { return true }, nil
	}
	matches, ok := parseRegexpFilter(filter, t)
	if !ok {
		matches, ok = parseComparisons(filter, t)
	}
	if !ok {
		return nil, invalid("Invalid value for field 'filter': '%s'. Invalid list filter expression.", filter)
	}
	return matches, nil
}

// parseRegexpFilter reads `field eq regexp`, or several of these in
// parentheses, all of which must hold and be of one field.
func parseRegexpFilter(filter string, t reflect.Type) (predicate, bool) {
	if m := regexpExpression.FindStringSubmatch(filter); m != nil {
		return regexpTerm(t, m[1], m[2], m[3])
	}
	var terms []predicate
	for field := ""; strings.TrimSpace(filter) != ""; {
		m := regexpFactor.FindStringSubmatch(filter)
		if m == nil || field != "" && field != m[1] {
			return nil, false
		}
		term, ok := regexpTerm(t, m[1], m[2], m[3])
		if !ok {
			return nil, false
		}
		field, filter = m[1], filter[len(m[0]):]
		terms = append(terms, term)
	}
	return every(terms), true
}

// regexpTerm matches when the whole field does, or with ne when it does not.
func regexpTerm(t reflect.Type, field, op, literal string) (predicate, bool) {
	get, ok := fieldReader(t, field)
	if !ok {
		return nil, false
	}
	if quotedLiteral.MatchString(literal) {
		literal = literal[1 : len(literal)-1]
	} else if strings.ContainsAny(literal, " \t\"'") { // a mixture of the two forms, or of two fields
		return nil, false
	}
	re, err := regexp.Compile(`^(?:` + literal + `)$`)
	if err != nil {
		return nil, false
	}
	return someOf(get, func(field any) bool { return re.MatchString(textOf(field)) == (op == "eq") }), true
}

func every(terms []predicate) predicate {
	return func(v reflect.Value) bool {
		for _, holds := range terms {
			if !holds(v) {
				return false
			}
		}
		return true
	}
}

func either(terms []predicate) predicate {
	return func(v reflect.Value) bool {
		for _, holds := range terms {
			if holds(v) {
				return true
			}
		}
		return false
	}
}

func not(holds predicate) predicate { return func(v reflect.Value) bool { return !holds(v) } }

// comparisons is a parser of AIP-160 filters. OR binds tighter than AND, and
// AND may be left out.
type comparisons struct {
	words []string
	t     reflect.Type
	depth int
}

// maxDepth is how deep parentheses may nest.
const maxDepth = 50

func parseComparisons(filter string, t reflect.Type) (predicate, bool) {
	p := &comparisons{t: t}
	for strings.TrimSpace(filter) != "" {
		m := comparisonWord.FindStringSubmatch(filter)
		if m == nil {
			return nil, false
		}
		p.words = append(p.words, m[1])
		filter = filter[len(m[0]):]
	}
	matches, ok := p.all()
	if !ok || len(p.words) > 0 {
		return nil, false
	}
	return matches, true
}

func (p *comparisons) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *comparisons) next() string {
	w := p.peek()
	if w != "" {
		p.words = p.words[1:]
	}
	return w
}

// all reads a sequence of alternatives, joined by AND or by nothing.
func (p *comparisons) all() (predicate, bool) {
	var terms []predicate
	for {
		term, ok := p.any()
		if !ok {
			return nil, false
		}
		terms = append(terms, term)
		switch p.peek() {
		case "", ")":
			return every(terms), true
		case "AND":
			p.next()
		}
	}
}

// any reads one term, or several joined by OR.
func (p *comparisons) any() (predicate, bool) {
	var terms []predicate
	for {
		term, ok := p.term()
		if !ok {
			return nil, false
		}
		terms = append(terms, term)
		if p.peek() != "OR" {
			return either(terms), true
		}
		p.next()
	}
}

// term reads a comparison, a parenthesis, or NOT before either.
func (p *comparisons) term() (predicate, bool) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, false
	}
	switch w := p.next(); w {
	case "NOT", "-":
		inner, ok := p.term()
		if !ok {
			return nil, false
		}
		return not(inner), true
	case "(":
		inner, ok := p.all()
		return inner, ok && p.next() == ")"
	default:
		return p.comparison(w)
	}
}

func (p *comparisons) comparison(field string) (predicate, bool) {
	field, negated := strings.CutPrefix(field, "-")
	get, ok := fieldReader(p.t, field)
	op, value := p.next(), p.next()
	if !ok || value == "" || !comparisonSign.MatchString(op) {
		return nil, false
	}
	holds, ok := comparison(get, op, value)
	if ok && negated {
		holds = not(holds)
	}
	return holds, ok
}

// comparison compares a field with a value as the field's type says; of a list
// one item has to fit. With ":" a text need only contain the value. In a value for
// "=", "!=" and ":" an asterisk stands for any text.
func comparison(get func(reflect.Value) any, op, value string) (predicate, bool) {
	pattern := strings.Contains(value, "*")
	if strings.ContainsAny(value[:1], `"'`) {
		value = escape.ReplaceAllString(value[1:len(value)-1], "$1")
	} else if strings.ContainsAny(value, `()=<>:!`) {
		return nil, false
	}
	holds := func(field any) bool { return holdsFor(field, op, value) }
	switch {
	case op == ":" && value == "*":
		holds = func(field any) bool { return textOf(field) != "" }
	case pattern && strings.ContainsAny(op, "<>"):
		return nil, false
	case pattern:
		re := wildcard(value)
		holds = func(field any) bool { return re.MatchString(textOf(field)) == (op != "!=") }
	}
	return someOf(get, holds), true
}

// someOf is whether what get reads fits, or an item of it if it is a list.
func someOf(get func(reflect.Value) any, fits func(any) bool) predicate {
	return func(v reflect.Value) bool {
		got := get(v)
		if list, ok := got.([]any); ok {
			return slices.ContainsFunc(list, fits)
		}
		return fits(got)
	}
}

// wildcard matches a whole text in which each asterisk is any text.
func wildcard(value string) *regexp.Regexp {
	parts := strings.Split(value, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`^` + strings.Join(parts, ".*") + `$`)
}

func holdsFor(field any, op, value string) bool {
	if text, ok := field.(string); ok && op == ":" {
		return strings.Contains(text, value)
	}
	sign, ok := compare(field, value)
	switch op {
	case "=", ":":
		return ok && sign == 0
	case "!=":
		return !ok || sign != 0
	case "<":
		return ok && sign < 0
	case "<=":
		return ok && sign <= 0
	case ">":
		return ok && sign > 0
	}
	return ok && sign >= 0
}

// compare is false when the value cannot be compared with the field.
func compare(field any, value string) (int, bool) {
	switch field := field.(type) {
	case string:
		a, errA := time.Parse(time.RFC3339, field)
		b, errB := time.Parse(time.RFC3339, value)
		if errA == nil && errB == nil {
			return a.Compare(b), true
		}
		return cmp.Compare(field, value), field != ""
	case bool:
		b, err := strconv.ParseBool(value)
		if err != nil || b == field {
			return 0, err == nil
		}
		return 1, true
	case float64:
		n, err := strconv.ParseFloat(value, 64)
		return cmp.Compare(field, n), err == nil
	case int64:
		return compareWhole(new(big.Float).SetInt64(field), value)
	case uint64:
		return compareWhole(new(big.Float).SetUint64(field), value)
	}
	return 0, false
}

// compareWhole compares a whole number, which may have more digits than a float64, such
// as an id.
func compareWhole(field *big.Float, value string) (int, bool) {
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		return 0, false
	}
	n, _, err := big.ParseFloat(value, 10, 128, big.ToNearestEven)
	if err != nil {
		return 0, false
	}
	return field.Cmp(n), true
}
