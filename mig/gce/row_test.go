package gce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// pageOf returns a page of the list with these items.
func (l list) pageOf(items ...string) string {
	all := strings.Join(items, ",")
	if l.path == "aggregated/instances" {
		return `{"kind":"compute#list","items":{"zones/us-central1-a":{"instances":[` + all + `]}}}`
	}
	return `{"kind":"compute#list","items":[` + all + `]}`
}

// named returns an item of the list with this name.
func (l list) named(name string) string { return fmt.Sprintf(l.item, name) }

// unreadOf returns an item's Unread text; for a request, it is part of its group's.
func unreadOf(one any) string {
	switch one := one.(type) {
	case mig.Group:
		return one.Unread
	case mig.Policy:
		return one.Unread
	case mig.Instance:
		return one.Unread
	}
	return ""
}

// B2: whatever one field of one record contains, the other records are unaffected and the record
// does not look absent.
func FuzzARecord(f *testing.F) {
	for i := range lists {
		for _, field := range []string{"creationTimestamp", "targetSize", "state", "status", "description", "instances", "metadata", "labels", "resourceStatus", "name", "versions"} {
			for _, value := range []string{`5`, `null`, `"yesterday"`, `{}`, `[]`, `[{"name":5}]`, `"{\"slurmflex\":1,"`} {
				f.Add(uint8(i), field, []byte(value))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, field string, value []byte) {
		if !json.Valid(value) {
			t.Skip("no record")
		}
		l := lists[int(which)%len(lists)]
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(l.named("alpha-x")), &fields))
		fields[field] = value
		hostile, err := json.Marshal(fields)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			good, unseen := l.readPage(t, []byte(l.pageOf(l.named("alpha-w"), l.named("alpha-y"))))
			require.Empty(t, unseen)
			require.Len(t, good, 2)
			found, unseen := l.readPage(t, []byte(l.pageOf(l.named("alpha-w"), string(hostile), l.named("alpha-y"))))
			if field == "name" {
				return // it could be any object: then the region is unseen
			}
			require.Empty(t, unseen)
			isOther := func(one any) bool { return !strings.HasSuffix(nameOf(one), "alpha-x") }
			if l.path == requestsPath { // all requests belong to one group
				require.Len(t, found, 3)
				found = slices.DeleteFunc(found, func(one any) bool { return !isOther(one) })
				require.Equal(t, good, found)
				return
			}
			require.Equal(t, good, slices.DeleteFunc(slices.Clone(found), func(one any) bool { return !isOther(one) }))
			if field != "description" || value[0] != '"' && string(value) != "null" {
				require.Len(t, found, 3, "an unreadable record is not dropped")
			}
		})
	})
}

// B2: items appear twice if a page boundary moves between calls.
func TestDuplicateItemsAreReturnedOnce(t *testing.T) {
	for _, l := range lists {
		synctest.Test(t, func(t *testing.T) {
			found, unseen := l.readPage(t, []byte(l.pageOf(l.named("alpha-x"), l.named("alpha-y"), l.named("alpha-x"))))
			require.Empty(t, unseen)
			require.Len(t, found, 2, l.path)
			for _, one := range found {
				assert.Empty(t, unreadOf(one))
			}
		})
	}
}

// B2: of two copies that differ, neither can be trusted.
func TestContradictoryDuplicatesAreUnread(t *testing.T) {
	const later = "2026-03-02T10:00:00.123-08:00"
	for _, l := range lists {
		synctest.Test(t, func(t *testing.T) {
			twice := l.pageOf(l.named("alpha-x"), strings.Replace(l.named("alpha-x"), createdText, later, 1))
			if l.path == requestsPath {
				groups := groupsOf(t, atPaths(map[string]http.HandlerFunc{groupsPath: ok(lists[0].page), requestsPath: ok(twice)}))
				require.Len(t, groups, 1)
				assert.Equal(t, "resize request alpha-x: the list has it twice, and not alike: ACCEPTED and ACCEPTED", groups[0].Unread)
				assert.Len(t, groups[0].Requests, 1)
				return
			}
			found, unseen := l.readPage(t, []byte(twice))
			require.Empty(t, unseen)
			require.Len(t, found, 1)
			assert.Equal(t, "the list has it twice, and not alike", unreadOf(found[0]), l.path)
		})
	}
}

func TestUnreadableRecordHasUnreadSet(t *testing.T) {
	group, instance, policy := lists[0], lists[2], lists[3]
	for name, c := range map[string]struct {
		list     list
		old, new string
		want     string
	}{
		"a group's age":               {group, createdText, "yesterday", `creationTimestamp: parsing time "yesterday"`},
		"a group's size":              {group, `"targetSize":2,`, ``, "targetSize: it is missing"},
		"a size that is not a number": {group, `"targetSize":2,`, `"targetSize":"many",`, "targetSize: answer not understood"},
		"half a stamp":                {group, testStamp.String(), "", ""},
		"an instance's status":        {instance, `"status":"RUNNING",`, ``, "status: it is missing"},
		"an instance's end":           {instance, `"terminationTimestamp":"` + createdText, `"terminationTimestamp":"soon`, `terminationTimestamp: parsing time "soon"`},
		"a policy's age":              {policy, createdText, "", `creationTimestamp: parsing time ""`},
	} {
		t.Run(name, func(t *testing.T) {
			item := strings.Replace(c.list.named("alpha-x"), c.old, c.new, 1)
			if name == "half a stamp" {
				item, c.want = strings.Replace(item, quotedJSON(testStamp.String()), quotedJSON(testStamp.String()[:40]), 1), "description: not a complete stamp of slurmflex"
			}
			found, unseen := c.list.readPage(t, []byte(c.list.pageOf(item)))
			require.Empty(t, unseen)
			require.Len(t, found, 1)
			assert.Contains(t, unreadOf(found[0]), c.want)
		})
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				api := atPaths(map[string]http.HandlerFunc{groupsPath: func(w http.ResponseWriter, r *http.Request) {
					n++
					aList(`{"items":[`+groupJSON("alpha-x", testStamp.String())+`],"nextPageToken":"`+c.next(n)+`"}`)(w, r)
				}})
				groups, unseen := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
				assert.Empty(t, groups)
				require.EqualError(t, unseen[testRegion], "list groups of us-central1: "+c.want)
				assert.Equal(t, c.most, n)
			})
		})
	}
}
