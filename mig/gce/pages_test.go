package gce

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// list is one of the lists that a pass reads.
type list struct {
	path string
	what string // the list's name in errors
	item string // an item that counts, with %s for its name
	read func(context.Context, *Client) (found []any, unseen map[string]error)
}

var lists = []list{
	{
		path: groupsPath,
		what: "list groups of us-central1",
		item: `{"name":%q,"description":` + quotedJSON(testStamp.String()) + `,"targetSize":2,"creationTimestamp":"` + createdText + `"}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			found, unseen := c.Groups(ctx, "alpha", []string{testRegion})
			return anything(found), unseen
		},
	},
	{
		path: requestsPath,
		what: "list resize requests of alpha-x",
		item: `{"name":%q,"state":"ACCEPTED","creationTimestamp":"` + createdText + `","requestedRunDuration":{"seconds":"900"},"instances":[{"name":"n0"}]}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			groups, unseen := c.Groups(ctx, "alpha", []string{testRegion})
			var found []any
			for _, g := range groups {
				found = append(found, anything(g.Requests)...)
			}
			return found, unseen
		},
	},
	{
		path: "zones/us-central1-a/instances",
		what: "list instances of us-central1",
		item: `{"name":%q,"status":"RUNNING","creationTimestamp":"` + createdText + `","resourceStatus":{"scheduling":{"terminationTimestamp":"` + createdText + `"}}}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			found, unseen := c.Instances(ctx, "alpha", []string{testRegion}, "us-central1-a")
			return anything(found), unseen
		},
	},
	{
		path: "regions/us-central1/resourcePolicies",
		what: "list workload policies of us-central1",
		item: `{"name":%q,"description":` + quotedJSON(testStamp.String()) + `,"creationTimestamp":"` + createdText + `"}`,
		read: func(ctx context.Context, c *Client) ([]any, map[string]error) {
			found, unseen := c.Policies(ctx, "alpha", []string{testRegion})
			return anything(found), unseen
		},
	},
}

// readFrom makes a client read the list from an API with this handler.
func (l list) readFrom(t *testing.T, answer http.HandlerFunc) (found []any, unseen map[string]error) {
	answers := map[string]http.HandlerFunc{l.path: answer}
	if l.path == requestsPath { // requests are only read for an existing group
		answers[groupsPath] = ok(lists[0].pageOf(lists[0].named("alpha-x")))
	}
	return l.read(t.Context(), clientOf(t, inMemory{atPaths(answers)}))
}

// pageOf returns a page of the list with these items.
func (l list) pageOf(items ...string) string {
	return `{"kind":"compute#list","items":[` + strings.Join(items, ",") + `]}`
}

// named returns an item of the list with this name.
func (l list) named(name string) string { return fmt.Sprintf(l.item, name) }

// B2: items appear twice if a page boundary moves between calls.
func TestDuplicateItemsAreReturnedOnce(t *testing.T) {
	for _, l := range lists {
		synctest.Test(t, func(t *testing.T) {
			found, unseen := l.readFrom(t, ok(l.pageOf(l.named("alpha-x"), l.named("alpha-y"), l.named("alpha-x"))))
			require.Empty(t, unseen)
			require.Len(t, found, 2, l.path)
		})
	}
}

// badAnswer is an answer that makes a list unread, and why.
type badAnswer struct {
	answer http.HandlerFunc
	want   string
}

// B2: a list with a record that is not understood is unread, and not shorter, as is one that is not
// complete.
func TestListThatIsNotUnderstoodIsUnread(t *testing.T) {
	forbidden := refusal(403, "forbidden", "no permission")
	for _, l := range lists {
		x := l.named("alpha-x")
		answers := map[string]badAnswer{
			"it is refused": {forbidden, "403 forbidden: no permission"},
			"it warns":      {aList(`{"warning":{"code":"UNREACHABLE","message":"down"}}`), "incomplete answer: UNREACHABLE: down"},
			"a second page is refused": {func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("pageToken") == "" {
					ok(strings.Replace(l.pageOf(x), "{", `{"nextPageToken":"t",`, 1))(w, r)
					return
				}
				forbidden(w, r)
			}, "403 forbidden: no permission"},
		}
		if l.path == requestsPath {
			answers["it names what it lacks"] = badAnswer{aList(`{"unreachables":["zones/us-central1-c"]}`), "incomplete answer: unreachable: zones/us-central1-c"}
		}
		for name, item := range map[string]string{
			"no name":                  strings.Replace(x, `"name":"alpha-x",`, "", 1),
			"no age":                   strings.Replace(x, createdText, "", 1),
			"an age that is no time":   strings.Replace(x, createdText, "yesterday", 1),
			"an age that is a number":  strings.Replace(x, `"`+createdText+`"`, "5", 1),
			"no state":                 strings.NewReplacer(`"state":"ACCEPTED",`, "", `"status":"RUNNING",`, "", `"targetSize":2`, `"targetSize":"many"`, `"description"`, `"creationTimestamp":5,"description"`).Replace(x),
			"a second, different copy": x + "," + strings.Replace(x, createdText, "2026-03-02T10:00:00.123-08:00", 1),
			"no record":                "null",
			"no object":                "5",
		} {
			answers[name] = badAnswer{ok(l.pageOf(l.named("alpha-w"), item, l.named("alpha-y"))), "answer not understood: "}
		}
		for name, test := range answers {
			inBubble(t, l.what+" "+name, func(t *testing.T) {
				found, unseen := l.readFrom(t, test.answer)
				assert.Empty(t, found)
				require.ErrorContains(t, unseen[testRegion], l.what+": ")
				require.ErrorContains(t, unseen[testRegion], test.want)
			})
		}
	}
}

// A group or a policy whose description is not a whole stamp may be ours.
func TestRecordWithHalfAStampIsUnread(t *testing.T) {
	for _, l := range []list{lists[0], lists[3]} {
		half := strings.Replace(l.named("alpha-x"), quotedJSON(testStamp.String()), quotedJSON(testStamp.String()[:40]), 1)
		found, unseen := l.readFrom(t, ok(l.pageOf(half)))
		require.Empty(t, unseen)
		require.Len(t, found, 1)
		switch one := found[0].(type) {
		case mig.Group:
			assert.Equal(t, "description: not a complete stamp of slurmflex", one.Unread)
		case mig.Policy:
			assert.Equal(t, "description: not a complete stamp of slurmflex", one.Unread)
		}
	}
}

// B3: an endless list is an error, not a shorter list.
func TestEndlessListIsUnseen(t *testing.T) {
	for name, c := range map[string]struct {
		next func(n int) string
		most int
		want string
	}{
		"its page tokens alternate":      {func(n int) string { return string(rune('A' + n%2)) }, 3, `the list does not end: page token "B" came before`},
		"its page tokens are always new": {func(n int) string { return fmt.Sprint(n) }, pageLimit, "the list does not end: there is more after 1000 pages"},
	} {
		inBubble(t, name, func(t *testing.T) {
			n := 0
			api := atPaths(map[string]http.HandlerFunc{groupsPath: func(w http.ResponseWriter, r *http.Request) {
				n++
				aList(`{"items":[`+groupJSON("alpha-x", testStamp.String())+`],"nextPageToken":"`+c.next(n)+`"}`)(w, r)
			}})
			groups, err := groupsIn(t, clientOf(t, inMemory{api}))
			assert.Empty(t, groups)
			require.EqualError(t, err, "list groups of us-central1: "+c.want)
			assert.Equal(t, c.most, n)
		})
	}
}

// anything converts the values to values of type any.
func anything[T any](all []T) (found []any) {
	for _, one := range all {
		found = append(found, one)
	}
	return found
}

func quotedJSON(s string) string { return fmt.Sprintf("%q", s) }
