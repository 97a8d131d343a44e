package fakegce

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
)

// selection is what a call's parameter fields leaves of an object: its fields by
// name, with "*" for any, and what is left of each; nil leaves all.
type selection map[string]selection

// parseFields reads a selection, such as items(name,status),nextPageToken or
// items/*/instances/name, for answers of the schema.
func (a *api) parseFields(text string, s *schema) (selection, error) {
	p := &fieldsReader{rest: text}
	sel, ok := p.list()
	if !ok || p.rest != "" {
		return nil, invalidFields(text)
	}
	return sel, a.checkFields(sel, a.resolve(s))
}

func invalidFields(what string) error {
	return &refusal{
		Status: http.StatusBadRequest, Reason: "invalidParameter", Message: "Invalid field selection " + what,
		Location: "fields", LocationType: "parameter",
	}
}

// checkFields refuses a name that an answer cannot have.
func (a *api) checkFields(sel selection, s *schema) error {
	for s != nil && s.Type == "array" {
		s = a.resolve(s.Items)
	}
	for name, inner := range sel {
		if name == "*" {
			continue
		}
		var f *schema
		if s != nil {
			f = a.field(s, name)
		}
		if f == nil {
			return invalidFields(name)
		}
		if err := a.checkFields(inner, f); err != nil {
			return err
		}
	}
	return nil
}

// fieldsReader is a parser of selections.
type fieldsReader struct {
	rest  string
	depth int
}

// maxDepth is how deep parentheses may nest.
const maxDepth = 50

var fieldName = regexp.MustCompile(`^(?:\*|[A-Za-z0-9_-]+)`)

func (p *fieldsReader) list() (selection, bool) {
	p.depth++
	defer func() { p.depth-- }()
	sel := make(selection)
	for ok := p.depth <= maxDepth; ok; {
		if !p.item(sel) {
			return nil, false
		}
		if p.rest, ok = strings.CutPrefix(p.rest, ","); !ok {
			return sel, true
		}
	}
	return nil, false
}

// item adds one field, with what is selected of it, to sel.
func (p *fieldsReader) item(sel selection) bool {
	name := fieldName.FindString(p.rest)
	if p.rest = p.rest[len(name):]; name == "" {
		return false
	}
	before, twice := sel[name]
	switch {
	case p.rest != "" && strings.ContainsAny(p.rest[:1], "/."):
		p.rest = p.rest[1:]
		inner := make(selection)
		if twice && before != nil {
			inner = before
		}
		if !twice || before != nil {
			sel[name] = inner
		}
		return p.item(inner)
	case strings.HasPrefix(p.rest, "("):
		p.rest = p.rest[1:]
		inner, ok := p.list()
		if p.rest, ok = cutIf(p.rest, ")", ok); !ok {
			return false
		}
		if !twice || before != nil {
			sel[name] = merged(before, inner)
		}
	default:
		sel[name] = nil
	}
	return true
}

func cutIf(text, prefix string, ok bool) (string, bool) {
	rest, found := strings.CutPrefix(text, prefix)
	return rest, ok && found
}

func merged(a, b selection) selection {
	for name, inner := range a {
		if other, ok := b[name]; ok && (inner == nil || other == nil) {
			b[name] = nil
		} else {
			b[name] = merged(inner, other)
		}
	}
	return b
}

// of is what is left of the field of that name. In a map a name selects the keys
// that begin with it and a slash too: items.zones has zones/us-central1-a.
func (sel selection) of(name []byte) (selection, bool) {
	if inner, ok := sel[string(name)]; ok {
		return inner, true
	}
	if kind, _, ok := bytes.Cut(name, []byte("/")); ok {
		if inner, ok := sel[string(kind)]; ok {
			return inner, true
		}
	}
	inner, ok := sel["*"]
	return inner, ok
}

// keep copies what is selected of the JSON value that src begins with, which has
// no white space between its words, and returns what comes after the value.
func (sel selection) keep(dst *bytes.Buffer, src []byte) []byte {
	switch {
	case sel == nil || src[0] != '{' && src[0] != '[':
		n := valueLength(src)
		dst.Write(src[:n])
		return src[n:]
	case src[0] == '[':
		dst.WriteByte('[')
		for src = src[1:]; src[0] != ']'; {
			src = sel.keep(dst, src)
			if src[0] == ',' {
				dst.WriteByte(',')
				src = src[1:]
			}
		}
		dst.WriteByte(']')
		return src[1:]
	}
	dst.WriteByte('{')
	empty := true
	for src = src[1:]; src[0] != '}'; src = bytes.TrimPrefix(src, []byte(",")) {
		n := valueLength(src)
		name, value := src[:n], src[n+1:]
		inner, ok := sel.of(name[1 : n-1])
		if !ok {
			src = value[valueLength(value):]
			continue
		}
		if !empty {
			dst.WriteByte(',')
		}
		empty = false
		dst.Write(name)
		dst.WriteByte(':')
		src = inner.keep(dst, value)
	}
	dst.WriteByte('}')
	return src[1:]
}

// valueLength is how long the JSON value is that src begins with.
func valueLength(src []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || c == ':'):
			return i
		}
	}
	return len(src)
}
