package gce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

const (
	pageSize  = "500" // Compute's maximum
	pageLimit = 1000  // pages of one list: half a million records
)

// head holds a page's fields other than its items.
type head struct {
	kind, next   string
	warning      *warning
	unreachables []string
}

// warning is a warning that Compute adds to a list.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// readAll reads a collection page by page. It calls items to read each page's items and, if page is
// not nil, page with the remaining fields. An endless list is an error, never a shorter list.
// readAll does not use Google's List, which ignores the caller's context (compute v1.72.0) and
// skips the warnings of pages without items. Nor does it use Google's types, which take three times
// as long to read.
func (c *Client) readAll(ctx context.Context, collection string, query url.Values, items func(*stream) error, page func(head) error) error {
	query.Set("maxResults", pageSize)
	query.Set("prettyPrint", "false") // otherwise Compute indents each field
	below := "projects/" + url.PathEscape(c.project) + "/" + collection
	given := map[string]bool{}
	for range pageLimit {
		_, body, err := c.answer(ctx, http.MethodGet, below, query)
		if err != nil {
			return err
		}
		p, err := readPage(body, items)
		if err != nil {
			return err
		}
		if p.kind == "" { // every list has a kind; without it, the answer must not pass for an empty list
			return errors.New("answer not understood: not a list")
		}
		if err := incomplete(p.warning); err != nil {
			return err
		}
		if page != nil {
			if err := page(p); err != nil {
				return err
			}
		}
		if p.next == "" {
			return nil
		}
		if given[p.next] {
			return fmt.Errorf("the list does not end: page token %q came before", p.next)
		}
		given[p.next] = true
		query.Set("pageToken", p.next)
	}
	return fmt.Errorf("the list does not end: there is more after %d pages", pageLimit)
}

// readPage reads a page. It calls items to read the page's items.
func readPage(body []byte, items func(*stream) error) (p head, err error) {
	s := streamOf(body)
	err = s.members(func(key string) error {
		switch key {
		case "items":
			return items(s)
		case "kind":
			return s.read(&p.kind)
		case "nextPageToken":
			return s.read(&p.next)
		case "warning":
			return s.read(&p.warning)
		case "unreachables":
			return s.read(&p.unreachables)
		}
		s.next()
		return nil
	})
	return p, err
}

// get reads one record into m. It does not use Google's Get, which would retry what wire has
// stopped retrying, nor Google's types, which allocate 9 MiB of descriptors when the first message
// is read.
func (c *Client) get(ctx context.Context, path string, m any) error {
	return c.ask(ctx, http.MethodGet, path, m)
}

// ask sends a read-only call and reads the answer into m.
func (c *Client) ask(ctx context.Context, verb, path string, m any) error {
	_, body, err := c.answer(ctx, verb, path, nil)
	if err != nil {
		return err
	}
	return notUnderstood(json.Unmarshal(body, m))
}

// answer returns the header and the body of Compute's answer.
func (c *Client) answer(ctx context.Context, verb, path string, query url.Values) (http.Header, []byte, error) {
	address := c.endpoint + "/compute/v1/" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, verb, address, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	body := resp.Body.(whole).text // wire has read it
	return resp.Header, body, googleapi.CheckResponseWithBody(resp, body)
}

// incomplete returns the error for a warning in a list. Only the warning about an empty list does
// not make the list incomplete.
func incomplete(w *warning) error {
	if w == nil || w.Code == "NO_RESULTS_ON_PAGE" {
		return nil
	}
	return fmt.Errorf("incomplete answer: %s: %s", w.Code, w.Message)
}

// namesOf returns the filter for names that begin with the cluster's name and a hyphen. The
// expression must match the whole name. Source: discovery document, parameter filter.
func namesOf(cluster string) string {
	return `name eq "` + regexp.QuoteMeta(cluster) + `-.*"`
}

// regionOfScope returns the region of a scope such as projects/p/zones/z or regions/r; false for
// any other scope.
func regionOfScope(scope string) (string, bool) {
	kind, name := path.Base(path.Dir(scope)), path.Base(scope)
	switch kind {
	case "zones":
		return mig.RegionOf(name), true
	case "regions":
		return name, true
	}
	return "", false
}

// perRegion calls read for every region in parallel. A region with a read error is in unseen, with
// the reason, and none of its results are returned.
func perRegion[T any](regions []string, read func(region string) ([]T, error)) (all []T, unseen map[string]error) {
	regions = slices.Compact(slices.Sorted(slices.Values(regions)))
	found := make([][]T, len(regions))
	errs := make([]error, len(regions))
	var wg sync.WaitGroup
	for i, region := range regions {
		wg.Go(func() { found[i], errs[i] = read(region) })
	}
	wg.Wait()
	unseen = make(map[string]error)
	for i, region := range regions {
		if errs[i] != nil {
			unseen[region], found[i] = errs[i], nil
		}
	}
	return slices.Concat(found...), unseen
}

// escaped joins the parts to a path and escapes each part.
func escaped(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
