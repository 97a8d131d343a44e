package fakegce

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	filterWord     = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|!=|<=|>=|[=<>:()]|[^\s"'!=<>:()]+)`)
	comparisonSign = regexp.MustCompile(`^(=|!=|<|<=|>|>=|:)$`)
	quotedLiteral  = regexp.MustCompile(`^["']`)
	escape         = regexp.MustCompile(`\\(.)`)
)

// predicate reports whether a resource (a pointer to an API struct) matches.
type predicate func(reflect.Value) bool

// filterReader parses filters for items of type t.
type filterReader struct {
	filter string
	words  []string // not yet read
	t      reflect.Type
}

// parseFilter parses a list's filter: comparisons of text fields that must all hold. They are
// joined by AND or by nothing, with or without parentheses. One filter may mix comparison
// signs (AIP-160) with eq or ne and a regular expression, because slurm-gcp's filters do.
// Other syntax of Compute is refused with status 501.
func parseFilter(filter string, t reflect.Type) (predicate, error) {
	p := &filterReader{filter: filter, t: t}
	for rest := filter; strings.TrimSpace(rest) != ""; {
		m := filterWord.FindStringSubmatch(rest)
		if m == nil {
			return nil, p.wrong()
		}
		p.words, rest = append(p.words, m[1]), rest[len(m[0]):]
	}
	var terms []predicate
	for len(p.words) > 0 {
		term, err := p.term()
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
		if len(p.words) > 1 && p.words[0] == "AND" {
			p.words = p.words[1:]
		}
	}
	return func(v reflect.Value) bool {
		return !slices.ContainsFunc(terms, func(holds predicate) bool { return !holds(v) })
	}, nil
}

func (p *filterReader) wrong() error {
	return invalid("Invalid value for field 'filter': '%s'. Invalid list filter expression.", p.filter)
}

// term parses one comparison with its parentheses, if any.
func (p *filterReader) term() (predicate, error) {
	words := p.words
	if len(words) > 1 && (words[0] == "NOT" || words[0] == "OR" || words[0][0] == '-') {
		return nil, notImplemented("This fake takes neither OR nor NOT in a filter.")
	}
	bracketed := words[0] == "("
	if bracketed {
		words = words[1:]
	}
	if len(words) < 3 || bracketed && (len(words) < 4 || words[3] != ")") {
		return nil, p.wrong()
	}
	p.words = words[3:]
	if bracketed {
		p.words = words[4:]
	}
	return p.comparison(words[0], words[1], words[2])
}

func (p *filterReader) comparison(field, op, value string) (predicate, error) {
	get, err := p.field(field)
	if err != nil {
		return nil, err
	}
	quoted := quotedLiteral.MatchString(value)
	if quoted {
		value = value[1 : len(value)-1]
	} else if strings.ContainsAny(value, `()=<>:!`) {
		return nil, p.wrong()
	}
	switch {
	case op == "eq" || op == "ne":
		whole, err := regexp.Compile(`^(?:` + value + `)$`)
		if err != nil {
			return nil, p.wrong()
		}
		return func(v reflect.Value) bool { return whole.MatchString(get(v)) == (op == "eq") }, nil
	case !comparisonSign.MatchString(op):
		return nil, p.wrong()
	}
	if quoted {
		value = escape.ReplaceAllString(value, "$1")
	}
	return p.signed(get, op, value)
}

// signed compares a text with a value. With ":" the text must contain the value, and "*"
// matches any text. In a value for "=", "!=" or ":", an asterisk matches any text.
func (p *filterReader) signed(get func(reflect.Value) string, op, value string) (predicate, error) {
	holds := func(text string) bool { return holdsFor(text, op, value) }
	switch pattern := strings.Contains(value, "*"); {
	case op == ":" && value == "*":
		holds = func(text string) bool { return text != "" }
	case op == ":" && !pattern:
		holds = func(text string) bool { return strings.Contains(text, value) }
	case pattern && strings.ContainsAny(op, "<>"):
		return nil, p.wrong()
	case pattern:
		whole := wildcard(value)
		holds = func(text string) bool { return whole.MatchString(text) == (op != "!=") }
	}
	return func(v reflect.Value) bool { return holds(get(v)) }, nil
}

// wildcard returns a pattern for a whole text; each asterisk matches any text.
func wildcard(value string) *regexp.Regexp {
	parts := strings.Split(value, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`^` + strings.Join(parts, ".*") + `$`)
}

// holdsFor compares a text with a value, as times if both are times. A missing text satisfies
// only "!=".
func holdsFor(text, op, value string) bool {
	sign := cmp.Compare(text, value)
	a, errA := time.Parse(time.RFC3339, text)
	b, errB := time.Parse(time.RFC3339, value)
	if errA == nil && errB == nil {
		sign = a.Compare(b)
	}
	switch {
	case text == "":
		return op == "!="
	case op == "=":
		return sign == 0
	case op == "!=":
		return sign != 0
	case op == "<":
		return sign < 0
	case op == "<=":
		return sign <= 0
	case op == ">":
		return sign > 0
	}
	return sign >= 0
}

// field finds a text field by its path, such as labels.owner or scheduling.provisioningModel.
// The returned function yields "" for a resource without that field.
func (p *filterReader) field(path string) (func(reflect.Value) string, error) {
	var steps []func(reflect.Value) reflect.Value
	t := p.t
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			f, ok := jsonField(t, name)
			if !ok {
				return nil, p.wrong()
			}
			steps = append(steps, func(v reflect.Value) reflect.Value { return v.Field(f.Index[0]) })
			t = f.Type
		case reflect.Map:
			steps = append(steps, func(v reflect.Value) reflect.Value { return v.MapIndex(reflect.ValueOf(name)) })
			t = t.Elem()
		default:
			return nil, p.wrong()
		}
	}
	if t.Kind() != reflect.String {
		return nil, notImplemented("This fake takes only fields that are text in a filter, and not " + path + ".")
	}
	return func(v reflect.Value) string {
		for _, step := range steps {
			v = reflect.Indirect(v)
			if !v.IsValid() {
				return ""
			}
			v = step(v)
		}
		if !v.IsValid() {
			return ""
		}
		return v.String()
	}, nil
}

// jsonField returns the struct field with this JSON name.
func jsonField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == name && tag != "-" {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}
