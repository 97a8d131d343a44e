package fakegce

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// location is the place of a resource: a zone, a region, or (zero) global.
type location struct{ region, zone string }

func (l location) String() string {
	switch {
	case l.zone != "":
		return "zones/" + l.zone
	case l.region != "":
		return "regions/" + l.region
	}
	return "global"
}

// regionName returns the region that the location is or belongs to.
func (l location) regionName() string {
	if l.zone != "" {
		return regionOf(l.zone)
	}
	return l.region
}

// meta holds the fields that all resources have.
type meta struct {
	path    string // projects/P/regions/R/instanceGroupManagers/M
	name    string
	at      location
	id      uint64
	created time.Time
	ready   bool   // no operation is creating or deleting it
	looks   []look // the oldest first; see remember
}

func (m *meta) about() *meta { return m }

func (m *meta) link() string { return apiRoot + m.path }

// resource is anything that a list can show. body returns its JSON form.
type resource interface {
	about() *meta
	body() any
}

func (s *Server) newMeta(at location, collection, name string) meta {
	return meta{
		path: s.path(at, collection, name), name: name, at: at,
		id: s.newID(), created: s.now,
	}
}

func (s *Server) path(at location, collection, name string) string {
	return fmt.Sprintf("projects/%s/%s/%s/%s", s.opts.Project, at, collection, name)
}

var linkRoot = regexp.MustCompile(`^(https://(www\.googleapis\.com|compute\.googleapis\.com)/compute/(v1|beta)/|//compute\.googleapis\.com/)`)

// canonical returns the full path for a reference in a body. The reference is a URL, a path
// that starts with projects/, or the rest of such a path after the project.
func (s *Server) canonical(ref string) string {
	if !strings.HasPrefix(ref, "projects/") {
		ref = linkRoot.ReplaceAllString(ref, "")
	}
	if strings.HasPrefix(ref, "projects/") {
		return s.plainPath(ref)
	}
	return "projects/" + s.opts.Project + "/" + ref
}

// plainPath replaces the project's number in a path by its ID.
func (s *Server) plainPath(path string) string {
	return strings.Replace(path, "projects/"+projectNumber+"/", "projects/"+s.opts.Project+"/", 1)
}

// maxLag is how long deleted resources are remembered for lagging lists.
const maxLag = 10 * time.Minute

// shelf holds the resources of one kind by path.
type shelf[T resource] struct {
	live map[string]T
	gone []departed[T]
}

type departed[T resource] struct {
	resource T
	at       time.Time
}

func (s *shelf[T]) get(path string) (T, bool) {
	r, ok := s.live[path]
	return r, ok
}

// find returns the resource at a path, or a refusal if there is none.
func (s *shelf[T]) find(path string) (T, error) {
	r, ok := s.live[path]
	if !ok {
		return r, notFound(path)
	}
	return r, nil
}

func (s *shelf[T]) add(r T) {
	if s.live == nil {
		s.live = make(map[string]T)
	}
	s.live[r.about().path] = r
}

func (s *shelf[T]) remove(r T, now time.Time) {
	delete(s.live, r.about().path)
	forgotten := func(d departed[T]) bool { return now.Sub(d.at) > maxLag }
	s.gone = append(slices.DeleteFunc(s.gone, forgotten), departed[T]{r, now})
}

// all returns the shelf's resources, sorted by path.
func (s *shelf[T]) all() []T {
	paths := slices.Sorted(maps.Keys(s.live))
	list := make([]T, len(paths))
	for i, p := range paths {
		list[i] = s.live[p]
	}
	return list
}

// seen returns what a list shows of the resources at the locations that here selects. With a
// lag, it returns the resources that existed that long ago, in their state at that time.
func (s *shelf[T]) seen(now time.Time, lag time.Duration, here func(location) bool) []resource {
	then := now.Add(-lag)
	var list []resource
	show := func(r T) {
		if m := r.about(); here(m.at) && !m.created.After(then) {
			list = append(list, asOf(r, then))
		}
	}
	for _, r := range s.live {
		show(r)
	}
	for _, d := range s.gone {
		if d.at.After(then) {
			show(d.resource)
		}
	}
	return list
}

func in(at location) func(location) bool { return func(l location) bool { return l == at } }

func anywhere(location) bool { return true }

var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkName refuses a text that is not a valid resource name (RFC 1035).
func checkName(field, name string) error {
	if name == "" {
		return required(field)
	}
	if !namePattern.MatchString(name) {
		return invalid("Invalid value for field '%s': '%s'. Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'", field, name)
	}
	return nil
}
