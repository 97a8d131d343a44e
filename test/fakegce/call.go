package fakegce

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
)

// call is one call of an API method.
type call struct {
	route  *route
	path   string // with the project's ID
	vars   map[string]string
	query  url.Values
	body   []byte
	at     location  // named by the path
	fields selection // fields of the answer to keep; nil keeps all
	fault  Fault     // the fault that strikes the call, if any
}

func (c *call) name() string { return c.vars["name"] }

// newCall determines which method a request calls, and on which resource.
func (s *Server) newCall(r *http.Request, body []byte) (*call, error) {
	path := r.URL.EscapedPath()
	rt, vars, err := s.find(r.Method, path)
	if err != nil {
		return nil, err
	}
	c := &call{route: rt, path: s.plainPath(path), vars: vars, body: body, at: location{vars["region"], vars["zone"]}}
	if c.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, badRequest("Invalid query string.")
	}
	return c, nil
}

// check refuses a call with an unknown place or parameter.
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
	if fields := c.query.Get("fields"); fields != "" {
		var err error
		if c.fields, err = theAPI().parseFields(fields, theAPI().Methods[c.route.method].Response); err != nil {
			return err
		}
	}
	if id, err := uuid.Parse(c.query.Get("requestId")); c.query.Has("requestId") && (err != nil || id == uuid.Nil) {
		return invalid("Invalid value for field 'requestId': '%s'. Must be a valid UUID, and not the zero UUID.", c.query.Get("requestId"))
	}
	return nil
}

// everywhere reports whether all methods accept the parameter.
func everywhere(name string, values []string) bool {
	switch name {
	case "alt":
		return slices.Equal(values, []string{"json"})
	case "fields", "prettyPrint", "key", "quotaUser", "userIp", "access_token", "oauth_token", "$.xgafv":
		return true
	}
	return false
}

// has reports whether the body has the field at its top level, whatever its value.
func (c *call) has(field string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(c.body, &fields) == nil && fields[field] != nil
}
