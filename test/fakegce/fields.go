package fakegce

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
)

// selection holds what a call's fields parameter keeps of an object: field names ("*" matches
// any) with what to keep of each; nil keeps everything.
type selection map[string]selection

// parseFields parses a selection such as items(name,status),nextPageToken or
// items/*/instances/name. It checks the names against the answer's schema.
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

// checkFields refuses names that the answer's schema lacks.
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

// fieldsReader parses selections.
type fieldsReader struct {
	rest  string
	depth int
}

// maxDepth is the maximum nesting of parentheses.
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

// item adds one field and its own selection to sel.
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

// of returns the selection of the named field. In a map, a name also selects every key that
// starts with the name and a slash: items.zones selects zones/us-central1-a.
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

// keep copies the selected parts of the JSON value at the start of src to dst. The value must
// have no white space between its tokens. keep returns the rest of src after the value.
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

// valueLength returns the length of the JSON value at the start of src.
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
