package fakegce

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const groupList = "regions/us-central1/instanceGroupManagers"

// pages reads a list, at most so many pages, and gives what each names and its
// token.
func (w *world) pages(most int) (names [][]string, tokens []string) {
	w.t.Helper()
	client := &http.Client{Transport: w.Transport()}
	path := groupList
	for range most {
		status, body := ask(w.t, client, http.MethodGet, path, "")
		require.Equal(w.t, http.StatusOK, status, body)
		var page struct {
			Items         []struct{ Name string }
			NextPageToken string
		}
		require.NoError(w.t, json.Unmarshal([]byte(body), &page))
		var all []string
		for _, item := range page.Items {
			all = append(all, item.Name)
		}
		names, tokens = append(names, all), append(tokens, page.NextPageToken)
		if page.NextPageToken == "" {
			break
		}
		path = groupList + "?pageToken=" + page.NextPageToken
	}
	return names, tokens
}

func TestAListMayGiveItsLastPageTwice(t *testing.T) {
	w := newWorld(t, Options{PageLimit: 2})
	for _, name := range []string{"a", "b", "c"} {
		w.givenGroup(name)
	}
	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.list", Doubled: true}))
	names, _ := w.pages(10)
	assert.Equal(t, [][]string{{"a", "b"}, {"c"}, {"c"}}, names)
}

func TestAListMayLeaveThingsOut(t *testing.T) {
	w := newWorld(t, Options{})
	for _, name := range []string{"a-1", "b", "a-2"} {
		w.givenGroup(name)
	}
	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.list", Omitted: "a-"}))
	names, _ := w.pages(10)
	assert.Equal(t, [][]string{{"b"}}, names)
}

func TestAListMayNeverEnd(t *testing.T) {
	for endless, different := range map[string]int{Alternating: 2, AlwaysNew: 6} {
		w := newWorld(t, Options{})
		w.givenGroup("a")
		require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.list", Endless: endless}))
		names, tokens := w.pages(6)
		assert.Len(t, names, 6)
		seen := map[string]bool{}
		for _, token := range tokens {
			seen[token] = true
		}
		assert.Len(t, seen, different, endless)
		assert.NotContains(t, seen, "")
	}
}

func TestARecordMayBeBroken(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("a1")
	w.givenGroup("b1")
	require.NoError(t, w.AddFault(Fault{Method: "*.list", Broken: &Broken{Name: "a", Field: "targetSize", Value: "many"}}))
	_, body := ask(t, &http.Client{Transport: w.Transport()}, http.MethodGet, groupList, "")
	var page struct {
		Items []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.Len(t, page.Items, 2)
	assert.Equal(t, "many", page.Items[0]["targetSize"])
	assert.InDelta(t, 0, page.Items[1]["targetSize"], 0)
}

func TestAGroupBeyondTheQuotaIsRefused(t *testing.T) {
	for _, metric := range []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} {
		w := newWorld(t, Options{})
		w.SetQuota(testRegion, metric, 1)
		w.givenGroup("a")
		_, err := w.insertGroup(flexGroup("b"))
		assertRefused(t, err, 403, "quotaExceeded", "Quota '"+metric+"' exceeded.  Limit: 1.0 in region us-central1.")
		_, body := ask(t, &http.Client{Transport: w.Transport()}, http.MethodGet, "regions/us-central1", "")
		assert.Contains(t, body, `{"limit":1,"metric":"`+metric+`","usage":1}`)
	}
}
