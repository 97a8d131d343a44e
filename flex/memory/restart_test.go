package memory

import (
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/must"
)

// A new field needs a row in the package's comment: what a restart costs that forgets it.
func TestPackageCommentSaysWhatARestartForgets(t *testing.T) {
	file := must.Get(parser.ParseFile(token.NewFileSet(), "memory.go", nil, parser.ParseComments))
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\t(\w+)  +\S`).FindAllStringSubmatch(file.Doc.Text(), -1) {
		rows = append(rows, row[1])
	}
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Memory]()) {
		fields = append(fields, f.Name)
	}
	assert.Equal(t, fields, rows)
}
