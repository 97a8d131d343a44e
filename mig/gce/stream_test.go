package gce

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func FuzzAStreamHasTheValuesThatJSONHas(f *testing.F) {
	for _, text := range []string{
		`[]`, ` [ 1 , -2.5e3,"a" ] `, `null`, `["]","\"}","\\",{"a":[{}]},[[]],true,null]`, "[\n\t{\"a\" : \"b,\\\\\"}\r\n]",
		`{}`, `{"a":1,"b" : [2 ,3], "\u0063":{"d":"}"},"a":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var elements []json.RawMessage
		if json.Unmarshal(text, &elements) == nil {
			var found []json.RawMessage
			s := streamOf(text)
			require.NoError(t, s.elements(func() error {
				found = append(found, s.next())
				return nil
			}))
			assert.Len(t, found, len(elements))
			for i, one := range found {
				assert.Equal(t, string(bytes.TrimSpace(elements[i])), string(one))
			}
			assert.Empty(t, s.next(), "it is at the end")
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) == nil {
			found := map[string]json.RawMessage{}
			s := streamOf(text)
			require.NoError(t, s.members(func(key string) error {
				found[key] = s.next()
				return nil
			}))
			assert.Len(t, found, len(members))
			for key, one := range found {
				assert.Equal(t, string(bytes.TrimSpace(members[key])), string(one))
			}
		}
	})
}

func TestRowBelongsToItsZoneOnThePage(t *testing.T) {
	row := `{"name":"alpha-a3-0","status":"RUNNING","creationTimestamp":"` + createdText + `"}`
	zone := "us-central1-a"
	c := clientOf(t, inMemory{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"compute#list","items":{"zones/` + zone + `":{"instances":[` + row + `]}}}`))
	})})
	for _, zone = range []string{"us-central1-a", "us-central1-a", "us-central1-b"} {
		instances, unseen := c.Instances(t.Context(), "alpha", []string{testRegion})
		require.Empty(t, unseen)
		require.Len(t, instances, 1)
		assert.Equal(t, zone, instances[0].Zone)
	}
	instances, _ := c.Instances(t.Context(), "beta", []string{testRegion})
	assert.Empty(t, instances, "it is another cluster's")
}
