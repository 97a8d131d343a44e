package fakegce

import (
	"reflect"
	"slices"
	"time"
)

// look is how a resource looked from a time on.
type look struct {
	at   time.Time
	body any
}

// then is a resource as a list that lags shows it.
type then struct {
	resource
	looked any
}

func (t then) body() any { return t.looked }

// asOf is the resource as it looked at a time, or else at the first that is
// remembered.
func asOf(r resource, at time.Time) resource {
	looks := r.about().looks
	if len(looks) == 0 {
		return r
	}
	later := slices.IndexFunc(looks, func(l look) bool { return l.at.After(at) })
	if later < 0 {
		later = len(looks)
	}
	return then{r, looks[max(later-1, 0)].body}
}

// remember notes how everything looks that lists may show as it was, as long as
// some fault has them lag.
func (s *Server) remember() {
	lags := slices.ContainsFunc(s.faults, func(f *armedFault) bool { return f.Lag > 0 })
	if !lags && !s.remembers {
		return
	}
	s.remembers = lags
	see := func(r resource) {
		if !lags {
			r.about().looks = nil
			return
		}
		r.about().note(s.now, r.body())
	}
	for _, g := range s.groups.live {
		see(g)
		for _, r := range g.requests.live {
			see(r)
		}
	}
	for _, v := range s.instances.live {
		see(v)
	}
	for _, p := range s.policies.live {
		see(p)
	}
}

// note remembers a body that is not as it was, and forgets what no list shows
// any more.
func (m *meta) note(now time.Time, body any) {
	if n := len(m.looks); n > 0 && reflect.DeepEqual(m.looks[n-1].body, body) {
		return
	}
	m.looks = append(m.looks, look{now, copied(body)})
	for len(m.looks) > 1 && now.Sub(m.looks[1].at) > maxLag {
		m.looks = m.looks[1:]
	}
}

// copied is a copy of what body points at. What that points at in turn is
// replaced when it changes, never changed in place.
func copied(body any) any {
	c := reflect.New(reflect.TypeOf(body).Elem())
	c.Elem().Set(reflect.ValueOf(body).Elem())
	return c.Interface()
}
