package gce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	pageSize  = "500" // the most that Compute gives
	pageLimit = 1000  // pages of one list: half a million records
)

// page is one page of a collection.
type page interface {
	proto.Message
	GetKind() string
	GetNextPageToken() string
	GetWarning() *computepb.Warning
}

// readAll reads a collection page by page, each page without its items into p,
// and calls each with them. A list that does not end is an error, never a shorter
// list. It does not use Google's own List, which sends its calls without the
// caller's context (compute v1.72.0) and passes over the warnings of a page
// that has no items.
func (c *Client) readAll(ctx context.Context, collection string, query url.Values, p page, each func(items json.RawMessage) error) error {
	query.Set("maxResults", pageSize)
	below := "projects/" + url.PathEscape(c.project) + "/" + collection
	given := map[string]bool{}
	for range pageLimit {
		items, err := c.page(ctx, below, query, p)
		if err != nil {
			return err
		}
		if p.GetKind() == "" { // which every list has: what is none must not pass for an empty one
			return errors.New("answer not understood: it is no list")
		}
		if err := incomplete(p.GetWarning()); err != nil {
			return err
		}
		if err := each(items); err != nil {
			return err
		}
		token := p.GetNextPageToken()
		if token == "" {
			return nil
		}
		if given[token] {
			return fmt.Errorf("the list does not end: page token %q came before", token)
		}
		given[token] = true
		query.Set("pageToken", token)
	}
	return fmt.Errorf("the list does not end: there is more after %d pages", pageLimit)
}

// page reads one page of a collection into p, but for its items.
func (c *Client) page(ctx context.Context, path string, query url.Values, p page) (items json.RawMessage, err error) {
	_, body, err := c.answer(ctx, http.MethodGet, path, query)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("answer not understood: %w", err)
	}
	items = fields["items"]
	delete(fields, "items")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return items, understand(rest, p)
}

// get reads one record into m. It does not use Google's own Get,
// which repeats on top of wire what wire has given up.
func (c *Client) get(ctx context.Context, path string, query url.Values, m proto.Message) error {
	return c.ask(ctx, http.MethodGet, path, query, m)
}

// ask reads the answer to a call that changes nothing into m.
func (c *Client) ask(ctx context.Context, verb, path string, query url.Values, m proto.Message) error {
	_, body, err := c.answer(ctx, verb, path, query)
	if err != nil {
		return err
	}
	return understand(body, m)
}

func understand(text []byte, m proto.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m); err != nil {
		return fmt.Errorf("answer not understood: %w", err)
	}
	return nil
}

// answer is what Compute answers: its header and its body.
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
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	return resp.Header, body, googleapi.CheckResponseWithBody(resp, body)
}

// incomplete is the error that a warning in a list stands for. Only the
// warning that a list is empty takes nothing from it.
func incomplete(w *computepb.Warning) error {
	if w == nil || w.GetCode() == "NO_RESULTS_ON_PAGE" {
		return nil
	}
	return fmt.Errorf("incomplete answer: %s: %s", w.GetCode(), w.GetMessage())
}

// namesOf is the filter for the names that begin with the cluster's and a
// hyphen. The expression must match the whole name. Source: discovery document,
// parameter filter.
func namesOf(cluster string) string {
	return `name eq "` + regexp.QuoteMeta(cluster) + `-.*"`
}

// regionOf is the region of a zone: us-central1 of us-central1-a.
func regionOf(zone string) string { return zone[:max(0, strings.LastIndex(zone, "-"))] }

// regionOfScope is the region that a scope such as projects/p/zones/z or
// regions/r lies in, and false if it is neither.
func regionOfScope(scope string) (string, bool) {
	kind, name := path.Base(path.Dir(scope)), path.Base(scope)
	switch kind {
	case "zones":
		return regionOf(name), true
	case "regions":
		return name, true
	}
	return "", false
}

// perRegion reads something of every region, all side by side. A region of
// which anything could not be read is in unseen, with the reason, and nothing
// of it is returned.
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
			unseen[region] = errs[i]
			continue
		}
		all = append(all, found[i]...)
	}
	return all, unseen
}

// escaped is a path of these parts.
func escaped(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
