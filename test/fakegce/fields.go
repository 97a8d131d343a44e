package fakegce

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
)

// selection holds what a call's fields parameter keeps of an object: field names with what to keep
// of each; nil keeps everything.
type selection map[string]selection

// parseFields parses a selection such as items(name,status),nextPageToken or items/metadata/items. It
// checks the names against the answer's schema.
func (a *api) parseFields(text string, s *schema) (selection, error) {
	p, sel := &fieldsReader{text}, make(selection)
	if !p.list(sel) || p.rest != "" {
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
type fieldsReader struct{ rest string }

var fieldName = regexp.MustCompile(`^[A-Za-z]+`)

// list adds the fields of a list to sel.
func (p *fieldsReader) list(sel selection) bool {
	for ok := true; ok; p.rest, ok = strings.CutPrefix(p.rest, ",") {
		if !p.item(sel) {
			return false
		}
	}
	return true
}

// item adds one field and its own selection to sel.
func (p *fieldsReader) item(sel selection) bool {
	name := fieldName.FindString(p.rest)
	if p.rest = p.rest[len(name):]; name == "" {
		return false
	}
	inner := sel[name]
	if inner == nil {
		inner = make(selection)
	}
	rest, inPath := strings.CutPrefix(p.rest, "/")
	within, inBrackets := strings.CutPrefix(p.rest, "(")
	switch {
	case inPath:
		sel[name], p.rest = inner, rest
		return p.item(inner)
	case inBrackets:
		sel[name], p.rest = inner, within
		ok := p.list(inner)
		p.rest, inBrackets = strings.CutPrefix(p.rest, ")")
		return ok && inBrackets
	}
	sel[name] = nil
	return true
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
		inner, ok := sel[string(name[1:n-1])]
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
