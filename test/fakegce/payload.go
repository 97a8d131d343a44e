package fakegce

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// payload checks a call's body against its schema. It refuses unknown fields. Where JSON
// allows several forms, it returns one: names in camelCase, 64-bit numbers as strings and
// other numbers as numbers, no null. Like any ProtoJSON parser, it accepts names in camelCase
// and in snake_case.
type payload struct{ api *api }

// decode parses the body into v. It refuses fields that the API lacks or spells with other
// capitals, as Google does.
func (s *Server) decode(c *call, v any) error {
	if len(c.body) == 0 {
		return required("resource")
	}
	raw, err := parseJSON(c.body)
	if err != nil {
		return err
	}
	if _, ok := raw.(map[string]any); !ok {
		return badRequest("Invalid JSON payload received. Root element must be a message.")
	}
	p := payload{theAPI()}
	if raw, err = p.value(raw, theAPI().Methods[c.route.method].Request, "resource"); err != nil {
		return err
	}
	if c.body, err = json.Marshal(raw); err == nil {
		err = json.Unmarshal(c.body, v)
	}
	if err != nil {
		return badRequest("Invalid JSON payload received.")
	}
	return nil
}

func parseJSON(body []byte) (raw any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err = d.Decode(&raw); err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return raw, nil
		}
	}
	at := min(int(d.InputOffset()), len(body))
	near := strings.ToValidUTF8(string(body[at:min(at+40, len(body))]), "?")
	return nil, badRequest("Invalid JSON payload received. Unexpected token.\n%s\n^", near)
}

// value converts a decoded value to its canonical form.
func (p payload) value(raw any, s *schema, at string) (any, error) {
	s = p.api.resolve(s)
	switch s.Type {
	case "object":
		return p.object(raw, s, at)
	case "array":
		return p.list(raw, s, at)
	case "boolean":
		if _, ok := raw.(bool); !ok {
			return nil, wrongType(at, "BOOL", raw)
		}
		return raw, nil
	case "integer", "number":
		return number(raw, s, at)
	}
	if strings.HasSuffix(s.Format, "int64") {
		n, err := number(raw, s, at)
		return string(n), err
	}
	return text(raw, s, at)
}

func (p payload) object(raw any, s *schema, at string) (any, error) {
	fields, ok := raw.(map[string]any)
	if !ok {
		return nil, wrongType(at, "MESSAGE", raw)
	}
	one := make(map[string]any, len(fields))
	for sent, value := range fields {
		name := sent
		inner := p.api.field(s, name)
		if inner == nil {
			name = camelCase(sent)
			inner = p.api.field(s, name)
		}
		if inner == nil {
			return nil, badRequest("Invalid JSON payload received. Unknown name \"%s\" at '%s': Cannot find field.", sent, at)
		}
		if value == nil {
			continue
		}
		if _, twice := one[name]; twice {
			return nil, badRequest("Invalid JSON payload received. Field \"%s\" at '%s' has both of its spellings.", name, at)
		}
		value, err := p.value(value, inner, at+"."+name)
		if err != nil {
			return nil, err
		}
		one[name] = value
	}
	return one, nil
}

func (p payload) list(raw any, s *schema, at string) (any, error) {
	items, ok := raw.([]any)
	if !ok {
		return nil, wrongType(at, "LIST", raw)
	}
	for i, item := range items {
		if item == nil {
			return nil, badRequest("Invalid value at '%s[%d]': a list has no null.", at, i)
		}
		var err error
		if items[i], err = p.value(item, s.Items, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// number parses a number, which may be a string, and checks it against its format.
func number(raw any, s *schema, at string) (json.Number, error) {
	n, ok := raw.(json.Number)
	if digits, isText := raw.(string); isText {
		n, ok = json.Number(digits), true
	}
	f, err := n.Float64()
	if !ok || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return "", wrongType(at, strings.ToUpper(s.Format), raw)
	}
	if s.Type == "number" {
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	whole := string(n)
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 { // 5.0 and 5e0 are also 5
		whole = strconv.FormatFloat(f, 'f', 0, 64)
	}
	if !fitsFormat(whole, s.Format) {
		return "", wrongType(at, strings.ToUpper(s.Format), raw)
	}
	return json.Number(whole), nil
}

// fitsFormat reports whether a whole number fits a format such as uint64.
func fitsFormat(whole, format string) bool {
	bits := 32
	if strings.HasSuffix(format, "64") {
		bits = 64
	}
	var err error
	if strings.HasPrefix(format, "u") {
		_, err = strconv.ParseUint(whole, 10, bits)
	} else {
		_, err = strconv.ParseInt(whole, 10, bits)
	}
	return err == nil
}

func text(raw any, s *schema, at string) (any, error) {
	value, ok := raw.(string)
	if !ok {
		return nil, wrongType(at, "STRING", raw)
	}
	if _, err := base64.StdEncoding.DecodeString(value); s.Format == "byte" && err != nil {
		return nil, wrongType(at, "BYTES", raw)
	}
	if value != "" && len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		return nil, invalid("Invalid value for field '%s': '%s'. Must be one of: %s.", at, value, strings.Join(s.Enum, " "))
	}
	return value, nil
}

// wrongType returns the refusal of a value with the wrong type.
func wrongType(at, want string, raw any) error {
	got, err := json.Marshal(raw)
	if err != nil {
		got = nil
	}
	return badRequest("Invalid value at '%s' (TYPE_%s), %s", at, want, got[:min(len(got), 200)])
}

// camelCase converts a snake_case name.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
