package fakegce

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// apiText holds the part of Google's discovery document that the fake uses. A test compares it
// with the document of the pinned module. UPDATE=1 makes that test write the file.
//
//go:embed api.json
var apiText []byte

// api is the discovery document without descriptions: the fake's methods and every schema that
// they reach.
type api struct {
	Revision string             `json:"revision"`
	Methods  map[string]method  `json:"methods"`
	Schemas  map[string]*schema `json:"schemas"`
}

// method is where a method is called, with which parameters, and the schemas of its request and
// response bodies; nil means no body.
type method struct {
	HTTPMethod string               `json:"httpMethod"`
	Path       string               `json:"path"`
	Parameters map[string]parameter `json:"parameters,omitempty"`
	Request    *schema              `json:"request,omitempty"`
	Response   *schema              `json:"response,omitempty"`
}

type parameter struct {
	Location string `json:"location"`
}

// schema describes which JSON values are valid.
type schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	Type                 string             `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Default              string             `json:"default,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	AdditionalProperties *schema            `json:"additionalProperties,omitempty"`
	Items                *schema            `json:"items,omitempty"`
}

var theAPI = sync.OnceValue(func() *api {
	a := new(api)
	if err := json.Unmarshal(apiText, a); err != nil {
		panic(fmt.Sprintf("fakegce: api.json: %v", err)) // api.json is embedded, so it must parse
	}
	return a
})

// resolve follows a $ref and returns the schema that s stands for.
func (a *api) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = a.Schemas[s.Ref]
	}
	return s
}

// field returns the schema of the named field, or nil if s has no such field.
func (a *api) field(s *schema, name string) *schema {
	if p := s.Properties[name]; p != nil {
		return a.resolve(p)
	}
	return a.resolve(s.AdditionalProperties)
}
