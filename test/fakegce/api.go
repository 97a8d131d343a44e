package fakegce

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// apiText is what the fake needs of Google's discovery document. A test holds it
// against the document of the pinned module; UPDATE=1 writes it.
//
//go:embed api.json
var apiText []byte

// api is the discovery document without its descriptions: the fake's methods,
// and the schemas that these reach.
type api struct {
	Revision string             `json:"revision"`
	Methods  map[string]bodies  `json:"methods"`
	Schemas  map[string]*schema `json:"schemas"`
}

// bodies are what a method takes and gives; nil is no body.
type bodies struct {
	Request  *schema `json:"request,omitempty"`
	Response *schema `json:"response,omitempty"`
}

// schema is what a JSON value may be.
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
		panic(fmt.Sprintf("fakegce: api.json: %v", err)) // it is part of the program
	}
	return a
})

// resolve is the schema that s stands for.
func (a *api) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = a.Schemas[s.Ref]
	}
	return s
}

// field is the schema of the field of that name; nil if there is none.
func (a *api) field(s *schema, name string) *schema {
	if p := s.Properties[name]; p != nil {
		return a.resolve(p)
	}
	return a.resolve(s.AdditionalProperties)
}
