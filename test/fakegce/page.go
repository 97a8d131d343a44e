package fakegce

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// defaultPage is Compute's default and maximum number of results per page.
const defaultPage = 500

// listReply is the answer of a list method.
type listReply struct {
	Kind          string            `json:"kind"`
	ID            string            `json:"id"`
	Items         []any             `json:"items,omitempty"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
	SelfLink      string            `json:"selfLink"`
	Warning       map[string]string `json:"warning,omitempty"`
	Unreachables  []string          `json:"unreachables,omitempty"`
}

// page is one page of results; next is empty on the last page.
type page struct {
	results []resource
	next    string
}

func (p page) bodies(f Fault) []any {
	var bodies []any
	for _, r := range p.results {
		bodies = append(bodies, f.bodyOf(r))
	}
	return bodies
}

// list answers a list method. example is a value of the items' type. For a place that the list
// cannot reach, it returns a warning and no items.
func (s *Server) list(c *call, kind string, all []resource, example any) (any, error) {
	lost := s.unreached(c, c.at)
	if lost {
		all = nil
	}
	p, err := s.page(c, all, example)
	if err != nil {
		return nil, err
	}
	id := strings.TrimPrefix(c.path, "/compute/v1/")
	answer := listReply{Kind: kind, ID: id, Items: p.bodies(c.fault), NextPageToken: p.next, SelfLink: apiRoot + id}
	code, message := c.fault.Warning, "The list may not be complete."
	if lost {
		code, message = "UNREACHABLE", "The scope '"+c.at.String()+"' is unreachable."
		if kind == regionalRequests { // the only one of these lists with that field
			answer.Unreachables = []string{s.placeLink(c.at)}
		}
	}
	if code != "" {
		answer.Warning = map[string]string{"code": code, "message": message}
	}
	return answer, nil
}

// unreachable returns a function that reports whether the region or zone of a given name
// contains at.
func unreachable(at location) func(string) bool {
	return func(name string) bool {
		return name != "" && (name == at.zone || name == at.region || at.zone != "" && name == regionOf(at.zone))
	}
}

// cursor is the content of a page token: the path of the last result returned, and the
// question. Because the token names a result instead of counting results, no result is lost if
// others are deleted between two pages.
type cursor struct {
	Path  string `json:"p"`
	Query string `json:"q"`
	Turn  int    `json:"t,omitempty"` // counts pages repeated by a fault
}

// page returns one page of the call's results, sorted by path.
func (s *Server) page(c *call, all []resource, example any) (page, error) {
	matches, err := parseFilter(c.query.Get("filter"), reflect.TypeOf(example))
	if err != nil {
		return page{}, err
	}
	limit, err := s.pageSize(c.query.Get("maxResults"))
	if err != nil {
		return page{}, err
	}
	var last cursor
	if token := c.query.Get("pageToken"); token != "" {
		last, err = parseToken(token)
		if err != nil || last.Query != question(c) {
			return page{}, invalid("Invalid value for field 'pageToken': '%s'. The page token is not one of this list's.", token)
		}
	}
	p := page{}
	for _, r := range all {
		if r.about().path > last.Path && !c.fault.omits(r) && matches(reflect.ValueOf(r.body())) {
			p.results = append(p.results, r)
		}
	}
	slices.SortFunc(p.results, func(a, b resource) int { return cmp.Compare(a.about().path, b.about().path) })
	switch {
	case len(p.results) > limit:
		p.results = p.results[:limit]
		last = cursor{Path: p.results[limit-1].about().path}
	case c.fault.Doubled && last.Turn == 0:
		last.Turn = 1
	case c.fault.Endless == Alternating:
		last.Turn = 1 + last.Turn%2
	case c.fault.Endless == AlwaysNew: // behind the last page with items, return empty pages
		if last.Turn > 0 {
			p.results = nil
		}
		last.Turn++
	default:
		return p, nil
	}
	last.Query = question(c)
	p.next = last.token()
	return p, nil
}

// question returns the part of a call that must not change between pages.
func question(c *call) string {
	return c.path + "?" + c.query.Get("filter")
}

func (c cursor) token() string {
	b, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.URLEncoding.EncodeToString(b)
}

func parseToken(token string) (cursor, error) {
	b, err := base64.URLEncoding.DecodeString(token)
	if err != nil {
		return cursor{}, err
	}
	var c cursor
	err = json.Unmarshal(b, &c)
	return c, err
}

// pageSize parses maxResults, 0 to 500; 0 means the default.
func (s *Server) pageSize(maxResults string) (int, error) {
	size := defaultPage
	if maxResults != "" {
		n, err := strconv.Atoi(maxResults)
		if err != nil || n < 0 || n > defaultPage {
			return 0, invalid("Invalid value for field 'maxResults': '%s'. Must be greater than or equal to 0 and less than or equal to 500.", maxResults)
		}
		if n > 0 {
			size = n
		}
	}
	if s.opts.PageLimit > 0 {
		size = min(size, s.opts.PageLimit)
	}
	return size, nil
}
