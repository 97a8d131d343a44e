package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTagsHaveOnlyKnownWords finds a misspelt tag, which would do nothing.
func TestTagsHaveOnlyKnownWords(t *testing.T) {
	known := map[string][]string{"capacity": {"", "too", "only"}, "reload": {"", "restart"}}
	for _, of := range structs {
		fields := fieldsOf(reflect.TypeOf(of))
		for _, f := range fields {
			for name, words := range known {
				assert.Contains(t, words, reflect.TypeOf(of).Field(f.index).Tag.Get(name), "tag %s of %T.%s", name, of, f.key)
			}
			assert.True(t, f.form == "" || forms[f.form].is != nil, "tag form of %T.%s", of, f.key)
			assert.True(t, f.needs == "" || slices.ContainsFunc(fields, func(o field) bool { return o.key == f.needs }), "tag needs of %T.%s", of, f.key)
		}
	}
}
