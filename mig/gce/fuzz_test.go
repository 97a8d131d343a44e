package gce

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// list is one of the lists that a pass reads.
type list struct {
	path string
	what string // the list's name in errors
	page string // a page with one item that counts
	item string // an item that counts, with %s for its name
	read func(context.Context, *Client) (found []any, unseen map[string]error)
	// count returns the names of the page's items that count. It uses another parser than the
	// client.
	count func(page map[string]any) map[string]bool
}

var lists = []list{
	{
		path: groupsPath,
		what: "list groups of us-central1",
		item: `{"name":%q,"description":` + quotedJSON(testStamp.String()) + `,"targetSize":2,"creationTimestamp":"` + createdText + `"}`,
		page: `{"kind":"compute#regionInstanceGroupManagerList","items":[` + groupJSON("alpha-x", testStamp.String()) + `,` + groupJSON("alpha-y", "") + `]}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			found, unseen := c.Groups(ctx, "alpha", []string{testRegion})
			return anything(found), unseen
		},
		count: stamped,
	},
	{
		path: requestsPath,
		what: "list resize requests of alpha-x",
		item: `{"name":%q,"state":"ACCEPTED","creationTimestamp":"` + createdText + `","requestedRunDuration":{"seconds":"900"},"instances":[{"name":"n0"}]}`,
		page: `{"kind":"compute#list","items":[{"name":"a1","state":"FAILED","creationTimestamp":"` + createdText + `","requestedRunDuration":{"seconds":"900"},` +
			`"instances":[{"name":"n0"}],"status":{"error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"no"}]}}}],"unreachables":[]}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			groups, unseen := c.Groups(ctx, "alpha", []string{testRegion})
			var found []any
			for _, g := range groups {
				found = append(found, anything(g.Requests)...)
			}
			return found, unseen
		},
		count: func(page map[string]any) map[string]bool { return namesIn(itemsOf(page), "") },
	},
	{
		path: "aggregated/instances",
		what: "list instances of us-central1",
		item: `{"name":%q,"status":"RUNNING","creationTimestamp":"` + createdText + `","resourceStatus":{"scheduling":{"terminationTimestamp":"` + createdText + `"}}}`,
		page: `{"kind":"compute#list","items":{"zones/us-central1-a":{"instances":[{"name":"alpha-a3-0","status":"RUNNING","creationTimestamp":"` + createdText +
			`"}]},"zones/us-central1-b":{"warning":{"code":"NO_RESULTS_ON_PAGE"}}}}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			found, unseen := c.Instances(ctx, "alpha", []string{testRegion})
			return anything(found), unseen
		},
		count: ourInstances,
	},
	{
		path: "regions/us-central1/resourcePolicies",
		what: "list workload policies of us-central1",
		item: `{"name":%q,"description":` + quotedJSON(testStamp.String()) + `,"creationTimestamp":"` + createdText + `"}`,
		page: `{"kind":"compute#list","items":[{"name":"alpha-x","description":` + quotedJSON(testStamp.String()) + `,"creationTimestamp":"` + createdText + `"}]}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			found, unseen := c.Policies(ctx, "alpha", []string{testRegion})
			return anything(found), unseen
		},
		count: stamped,
	},
}

// readPage makes a client read the list from an API that answers with this page.
func (l list) readPage(t *testing.T, page []byte) (found []any, unseen map[string]error) {
	return l.readFrom(t, ok(string(page)))
}

// readFrom makes a client read the list from an API with this handler.
func (l list) readFrom(t *testing.T, answer http.HandlerFunc) (found []any, unseen map[string]error) {
	answers := map[string]http.HandlerFunc{l.path: answer}
	if l.path == requestsPath { // requests are only read for an existing group
		answers[groupsPath] = ok(lists[0].page)
	}
	return l.read(t.Context(), clientOf(t, inMemory{atPaths(answers)}))
}

func FuzzAPage(f *testing.F) {
	for i, l := range lists {
		f.Add(uint8(i), []byte(l.page))
		f.Add(uint8(i), []byte(strings.Replace(l.page, "{", `{"nextPageToken":"2",`, 1)))
		f.Add(uint8(i), []byte(strings.Replace(l.page, "{", `{"warning":{"code":"UNREACHABLE"},`, 1)))
		f.Add(uint8(i), []byte(strings.ReplaceAll(l.page, createdText, "yesterday")))
	}
	f.Fuzz(func(t *testing.T, which uint8, page []byte) {
		l := lists[int(which)%len(lists)]
		synctest.Test(t, func(t *testing.T) {
			found, unseen := l.readPage(t, page)
			if len(unseen) > 0 {
				require.Empty(t, found, "an unread region has no partial result")
				requireFailure(t, unseen[testRegion])
				return
			}
			var whole map[string]any
			require.NoError(t, json.Unmarshal(page, &whole), "a page that cannot be read is not an empty one")
			require.Empty(t, whole["nextPageToken"], "the first page is not the list")
			names := map[string]bool{}
			for _, one := range found {
				require.False(t, names[nameOf(one)], "each thing is there once")
				names[nameOf(one)] = true
			}
			for name := range l.count(whole) {
				require.Contains(t, names, name, "an unreadable record is not dropped")
			}
		})
	})
}

func TestTruncatedPageIsNotAShorterList(t *testing.T) {
	for _, l := range lists {
		synctest.Test(t, func(t *testing.T) {
			found, unseen := l.readPage(t, []byte(l.page))
			require.Empty(t, unseen)
			require.Len(t, found, 1)
		})
		for length := range l.page {
			synctest.Test(t, func(t *testing.T) {
				_, unseen := l.readPage(t, []byte(l.page[:length]))
				require.NotEmpty(t, unseen, "%s, %d bytes", l.path, length)
			})
		}
	}
}

func FuzzAnAnswer(f *testing.F) {
	for _, body := range []string{
		done, running, `{"name":"operation-1","status":"PONDERING"}`, `{}`, ``, `{"error":{}}`, "<html>\n<title>502</title>", "null",
		doneWith(0, "QUOTA_EXCEEDED", "Quota 'GPUS' exceeded.\nLimit: 8"), doneWith(409, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", strings.Repeat("long ", 1000)),
		`{"error":{"code":403,"message":"no","errors":[{"reason":"rateLimitExceeded"}],"details":[{"reason":1},"x",null]}}`,
		`{"name":"operation-1","status":"DONE","error":{"errors":[{"errorDetails":[{"quotaInfo":{"limit":1e999,"dimensions":{"a":"9999-"}}},{"errorInfo":null}]}]}}`,
	} {
		f.Add(200, "", []byte(body))
		f.Add(403, "1", []byte(body))
		f.Add(503, "Fri, 31 Dec 9999 23:59:59 GMT", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, retryAfter string, body []byte) {
		if status < 200 || status > 599 {
			t.Skip("no HTTP server answers so")
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			c := clientOf(t, inMemory{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", retryAfter)
				w.WriteHeader(status)
				_, _ = w.Write(body)
			})})
			err := c.CancelRequest(ctx, testRegion, "alpha-x", "a1")
			if err == nil {
				require.Less(t, status, 300)
				var op map[string]any
				require.NoError(t, json.Unmarshal(body, &op))
				require.NotEmpty(t, op["name"], "an answer that is not an operation is an error")
			} else {
				requireFailure(t, err)
			}
			template, err := c.Template(ctx, testGroup.Template)
			if err != nil {
				require.Zero(t, template)
				requireFailure(t, err)
			}
		})
	})
}

// requireFailure asserts the properties of an error that the rest of the program relies on: a known
// cause and a one-line text.
func requireFailure(t *testing.T, err error) {
	t.Helper()
	var failed *mig.Error
	require.ErrorAs(t, err, &failed)
	require.NotEqual(t, mig.CauseNone, failed.Cause)
	require.LessOrEqual(t, failed.Cause, mig.CauseUnknown)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 2*messageLimit)
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, header := range []string{"", "0", "120", "-1", "99999999999999999999", "2147483648", "Sat, 21 Nov 2026 12:01:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		assert.GreaterOrEqual(t, retryAfter(header, now), time.Duration(0))
	})
}

// anything converts the values to values of type any.
func anything[T any](all []T) (found []any) {
	for _, one := range all {
		found = append(found, one)
	}
	return found
}

// nameOf returns the name of a list's item, with the zone of an instance.
func nameOf(one any) string {
	switch one := one.(type) {
	case mig.Group:
		return one.Name
	case mig.Request:
		return one.Name
	case mig.Policy:
		return one.Name
	case mig.Instance:
		return one.Zone + "/" + one.Name
	}
	return ""
}

// namesIn returns the names of items, each with the prefix.
func namesIn(items []any, prefix string) map[string]bool {
	names := map[string]bool{}
	for _, item := range items {
		if name, _ := item.(map[string]any)["name"].(string); name != "" {
			names[prefix+name] = true
		}
	}
	return names
}

// stamped returns the items with the cluster's stamp as their description.
func stamped(page map[string]any) map[string]bool {
	return namesIn(slices.DeleteFunc(itemsOf(page), func(item any) bool {
		description, _ := item.(map[string]any)["description"].(string)
		stamp, ok := mig.ParseStamp(description)
		return !ok || stamp.Cluster != "alpha"
	}), "")
}

func itemsOf(page map[string]any) []any {
	items, _ := page["items"].([]any)
	return slices.Clone(items)
}

// ourInstances returns the cluster's instances in the region.
func ourInstances(page map[string]any) map[string]bool {
	names := map[string]bool{}
	scopes, _ := page["items"].(map[string]any)
	for scope, scoped := range scopes {
		if region, ok := regionOfScope(scope); !ok || region != testRegion {
			continue
		}
		instances, _ := scoped.(map[string]any)["instances"].([]any)
		for name := range namesIn(instances, path.Base(scope)+"/") {
			if strings.HasPrefix(path.Base(name), "alpha-") {
				names[name] = true
			}
		}
	}
	return names
}

func quotedJSON(s string) string { return fmt.Sprintf("%q", s) }
