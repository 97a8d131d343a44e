package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// call is one call of an API method.
type call struct {
	route *route
	path  string
	vars  map[string]string
	query url.Values
	body  []byte
	at    location // that the path names
	fault Fault    // that struck it; zero if none
}

func (c *call) name() string { return c.vars["name"] }

// newCall finds out which method a request calls, on what.
func (s *Server) newCall(r *http.Request, body []byte) (*call, error) {
	path := r.URL.EscapedPath()
	rt, vars, err := s.find(r.Method, path)
	if err != nil {
		return nil, err
	}
	c := &call{route: rt, path: path, vars: vars, body: body, at: location{vars["region"], vars["zone"]}}
	if c.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, badRequest("Malformed query: %v", err)
	}
	return c, nil
}

// check refuses a call that names an unknown place or parameter.
func (s *Server) check(c *call) error {
	if z := c.at.zone; z != "" && !slices.Contains(s.opts.Zones, z) {
		return invalid("Invalid value for field 'zone': '%s'. Unknown zone.", z)
	}
	if r := c.at.region; r != "" && !slices.Contains(s.regions(), r) {
		return invalid("Invalid value for field 'region': '%s'. Unknown region.", r)
	}
	for name, values := range c.query {
		if !slices.Contains(c.route.query, name) && !everywhere(name, values) {
			return badRequest("Invalid JSON payload received. Unknown name \"%s\": Cannot bind query parameter. Field '%s' could not be found in request message.", name, name)
		}
		if len(values) > 1 {
			return badRequest("Invalid value for parameter '%s': it is given %d times.", name, len(values))
		}
	}
	if id, err := uuid.Parse(c.query.Get("requestId")); c.query.Has("requestId") && (err != nil || id == uuid.Nil) {
		return invalid("Invalid value for field 'requestId': '%s'. Must be a valid UUID, and not the zero UUID.", c.query.Get("requestId"))
	}
	return nil
}

// everywhere reports whether a parameter is one that all methods take and that
// does not change the answer's content.
func everywhere(name string, values []string) bool {
	switch name {
	case "alt":
		return slices.Equal(values, []string{"json"})
	case "prettyPrint", "key", "quotaUser", "userIp":
		return true
	}
	return false
}

// decode reads the body into v and refuses a field that the API does not have,
// or has under another case, as Google does.
func (c *call) decode(v any) error {
	if len(c.body) == 0 {
		return required("resource")
	}
	var raw any
	if err := json.Unmarshal(c.body, &raw); err != nil {
		return badRequest("Invalid JSON payload received. %v", err)
	}
	if _, ok := raw.(map[string]any); !ok {
		return badRequest("Invalid JSON payload received. Root element must be a message.")
	}
	if err := knownFields(raw, reflect.TypeOf(v), "resource"); err != nil {
		return err
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return badRequest("Invalid value in JSON payload: %v", err)
	}
	return nil
}

// has reports whether the body has the field at its top, whatever its value.
func (c *call) has(field string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(c.body, &fields) == nil && fields[field] != nil
}

// knownFields walks a decoded body beside the type that it is meant for.
func knownFields(raw any, t reflect.Type, at string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch raw := raw.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			return badRequest("Invalid value at '%s': it is a list.", at)
		}
		for i, item := range raw {
			if item == nil {
				return badRequest("Invalid value at '%s[%d]': a list has no null.", at, i)
			}
			if err := knownFields(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range raw {
			inner, err := fieldType(t, name, at)
			if err != nil {
				return err
			}
			if err := knownFields(value, inner, at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldType is the type of the field that JSON calls name.
func fieldType(t reflect.Type, name, at string) (reflect.Type, error) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), nil
	case reflect.Struct:
		if f, ok := jsonField(t, name); ok {
			return f.Type, nil
		}
	}
	return nil, badRequest("Invalid JSON payload received. Unknown name \"%s\" at '%s': Cannot find field.", name, at)
}

// jsonField is the field of a struct that JSON calls name.
func jsonField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == name && tag != "-" {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}
