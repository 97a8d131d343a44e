package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const groupList = "regions/us-central1/instanceGroupManagers"

// listing is a page of the list of groups.
type listing struct {
	Items         []map[string]any
	NextPageToken string
}

func (w *world) listing(token string) (p listing) {
	w.t.Helper()
	status, body := w.ask(http.MethodGet, groupList+"?pageToken="+token, "")
	require.Equal(w.t, http.StatusOK, status, body)
	require.NoError(w.t, json.Unmarshal([]byte(body), &p))
	return p
}

// broken is a world with these groups, whose lists have a fault.
func broken(t *testing.T, f Fault, groups ...string) *world {
	t.Helper()
	w := newWorld(t, Options{PageLimit: 2})
	w.http = &http.Client{Transport: w.Transport()} // what is broken breaks the schema too
	for _, name := range groups {
		w.givenGroup(name)
	}
	f.Method = "regionInstanceGroupManagers.list"
	require.NoError(t, w.AddFault(f))
	return w
}

func TestAListMayRepeatItsLastPageOrLeaveThingsOut(t *testing.T) {
	for want, f := range map[string]Fault{"a b c c ": {Doubled: true}, "b c ": {Omitted: "a"}} {
		w := broken(t, f, "a", "b", "c")
		names, token := "", ""
		for more := true; more; more = token != "" {
			p := w.listing(token)
			for _, item := range p.Items {
				names += fmt.Sprint(item["name"], " ")
			}
			token = p.NextPageToken
		}
		assert.Equal(t, want, names)
	}
}

func TestAListMayNeverEnd(t *testing.T) {
	for endless, different := range map[string]int{Alternating: 2, AlwaysNew: 6} {
		w := broken(t, Fault{Endless: endless}, "a")
		token, seen := "", map[string]bool{}
		for range 6 {
			token = w.listing(token).NextPageToken
			seen[token] = true
		}
		assert.Len(t, seen, different, endless)
		assert.NotContains(t, seen, "")
	}
}

func TestARecordMayBeBroken(t *testing.T) {
	items := broken(t, Fault{Broken: &Broken{Name: "a", Field: "targetSize", Value: "many"}}, "a1", "b1").listing("").Items
	require.Len(t, items, 2)
	assert.Equal(t, "many", items[0]["targetSize"])
	assert.InDelta(t, 0, items[1]["targetSize"], 0)
}

func TestAGroupBeyondTheQuotaIsRefused(t *testing.T) {
	for _, metric := range []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} {
		w := newWorld(t, Options{})
		w.SetQuota(testRegion, metric, 1)
		w.givenGroup("a")
		_, err := w.insertGroup(flexGroup("b"))
		assertRefused(t, err, 403, "quotaExceeded", "Quota '"+metric+"' exceeded.  Limit: 1.0 in region us-central1.")
		_, body := w.ask(http.MethodGet, "regions/us-central1", "")
		assert.Contains(t, body, `{"limit":1,"metric":"`+metric+`","usage":1}`)
	}
}
