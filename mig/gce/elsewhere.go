package gce

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"

	"slurmflex/config/regular"
)

// Region is how to reach a program that serves a region instead of Google's Compute.
type Region struct {
	Name      string
	Endpoint  string // as Options.Endpoint
	TokenFile string // a file with a bearer token for each call; empty: no token
}

// transport returns what sends the calls: those about one of o.Regions to the region's endpoint, and
// all others to o.Endpoint. Each endpoint has its own rate limit and its own token.
func (o Options) transport(ctx context.Context, base http.RoundTripper, date *atomic.Int64) (http.RoundTripper, error) {
	next, err := o.authenticated(ctx, base)
	if err != nil {
		return nil, err
	}
	all := byRegion{"": newWire(o, next, date)}
	for _, region := range o.Regions {
		endpoint, err := baseURL(region.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("region %s: %w", region.Name, err)
		}
		scheme, host, _ := strings.Cut(endpoint, "://")
		all[region.Name] = newWire(o, elsewhere{base, scheme, host, region.TokenFile}, date)
	}
	return all, nil
}

// byRegion has what sends the calls about a region, by its name; under "", what sends all others.
type byRegion map[string]http.RoundTripper

// placeInPath matches the region, or the region of the zone, that a call's path names.
var placeInPath = regexp.MustCompile(`/projects/[^/]+/(?:regions/([^/]+)|zones/([^/]+)-)`)

func (b byRegion) RoundTrip(req *http.Request) (*http.Response, error) {
	next := b[""]
	if place := placeInPath.FindStringSubmatch(req.URL.Path); place != nil {
		next = cmp.Or(b[place[1]+place[2]], next)
	}
	return next.RoundTrip(req)
}

// elsewhere sends calls to an endpoint, with the token in a file. The file is read for each call,
// so that a new token needs no restart.
type elsewhere struct {
	next                http.RoundTripper
	scheme, host, token string
}

func (e elsewhere) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = e.scheme, e.host, e.host
	if e.token != "" {
		token, err := regular.Read(e.token, tokenLimit)
		if err != nil {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, err
		}
		out.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return e.next.RoundTrip(out)
}
