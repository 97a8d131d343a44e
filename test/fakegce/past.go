package fakegce

import (
	"reflect"
	"slices"
	"time"
)

// look is the appearance of a resource from a point in time on.
type look struct {
	at   time.Time
	body any
}

// then is a resource as a lagging list shows it.
type then struct {
	resource
	looked any
}

func (t then) body() any { return t.looked }

// asOf returns the resource as it looked at the given time, or else as it looked first.
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

// remember records the present state of all resources that lagging lists may show. It does so
// only while a fault makes lists lag.
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

// note records a body if it has changed, and discards states too old for any list.
func (m *meta) note(now time.Time, body any) {
	if n := len(m.looks); n > 0 && reflect.DeepEqual(m.looks[n-1].body, body) {
		return
	}
	m.looks = append(m.looks, look{now, copied(body)})
	for len(m.looks) > 1 && now.Sub(m.looks[1].at) > maxLag {
		m.looks = m.looks[1:]
	}
}

// copied returns a shallow copy of what body points at. Nested objects are replaced on change
// and never modified, so they need no copy.
func copied(body any) any {
	c := reflect.New(reflect.TypeOf(body).Elem())
	c.Elem().Set(reflect.ValueOf(body).Elem())
	return c.Interface()
}
