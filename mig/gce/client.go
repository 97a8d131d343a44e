// Package gce is the one place that talks to Compute Engine. It maps regional
// managed instance groups, their resize requests, instances, instance templates
// and workload policies to the values of package mig, and every error of the
// API to a mig.Cause.
//
// A Client keeps no picture of the cloud but of what cannot change unseen (see
// settled): each method asks Compute again, and what could not be read is reported as
// unseen, never as empty.
package gce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"go.uber.org/zap"
	"google.golang.org/api/option"
)

const googleEndpoint = "https://compute.googleapis.com"

// Compute's oldest default quota is 1,500 calls a minute for a group of
// methods, refilled at each full minute: a minute at defaultRate with a burst
// of burstSeconds before it makes 1,400.
const (
	defaultRate  = 20 // calls per second
	burstSeconds = 10
)

// Options says how to reach Compute. Only Project is required.
type Options struct {
	Project string // the project's id
	Version string // of this program, for the User-Agent; empty for "unknown"

	// Endpoint is the scheme and host of another API than Google's own, such as
	// http://127.0.0.1:8900. It gets a token only of a CredentialsFile.
	Endpoint string

	// CredentialsFile is a file of Google credentials. Without it, Google's own
	// API gets the Application Default Credentials.
	CredentialsFile string

	// Transport carries the calls, nil for a default one over TCP.
	Transport http.RoundTripper

	Rate  float64 // calls per second, 0 for 20; operations are waited for at a rate of their own, the same
	Burst int     // calls that may be made at once after a pause, 0 for 10 s of Rate

	// Jitter chooses the pause before a call is tried again, below the most; nil
	// for one by chance.
	Jitter func(most time.Duration) time.Duration

	Log *zap.Logger // one line per call at debug level; nil for none

	// Observe is told of every call, also of each retry: the API's name of the
	// method, such as instances.aggregatedList, and the HTTP status, 0 if no
	// answer came. It is called by many goroutines at once. May be nil.
	Observe func(method string, status int, took time.Duration)
}

// Client calls Compute for one project. It is safe for concurrent use; all its
// calls share one rate limit, but for those that wait for operations: Compute
// counts these by themselves.
type Client struct {
	project  string
	endpoint string
	base     http.RoundTripper // what http sends its calls over in the end
	http     *http.Client

	settled settled
	makers  makers
	said    rows
	outages outages
	log     *zap.Logger
	date    *atomic.Int64 // Compute's time in its last answer, in epoch seconds; 0: there was none

	groups           *compute.RegionInstanceGroupManagersClient
	requests         *compute.RegionInstanceGroupManagerResizeRequestsClient
	instances        *compute.InstancesClient
	regionInstances  *compute.RegionInstancesClient
	policies         *compute.ResourcePoliciesClient
	regionOperations *compute.RegionOperationsClient
	zoneOperations   *compute.ZoneOperationsClient
	advice           *compute.AdviceClient
}

// New makes a client. It makes no call to Compute, but may ask the metadata
// server whether there is one when it looks for credentials.
func New(ctx context.Context, o Options) (*Client, error) {
	if o.Project == "" {
		return nil, errors.New("compute client: no project: set project in the configuration")
	}
	endpoint, err := baseURL(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("compute client: %w", err)
	}
	base := o.Transport
	if base == nil {
		base = defaultTransport()
	}
	next, err := o.authenticated(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("compute client: %w", err)
	}
	c := &Client{
		project:  o.Project,
		endpoint: endpoint,
		base:     base,
		date:     new(atomic.Int64),
		log:      o.log(),
	}
	c.http = &http.Client{Transport: newWire(o, next, c.date), CheckRedirect: noRedirect}
	if err := c.connect(ctx); err != nil {
		return nil, fmt.Errorf("compute client: %w", err)
	}
	return c, nil
}

// connect makes Google's clients, all of which send their calls over c.http.
func (c *Client) connect(ctx context.Context) error {
	google := []option.ClientOption{option.WithHTTPClient(c.http), option.WithEndpoint(c.endpoint)}
	var errs [8]error
	c.groups, errs[0] = compute.NewRegionInstanceGroupManagersRESTClient(ctx, google...)
	c.requests, errs[1] = compute.NewRegionInstanceGroupManagerResizeRequestsRESTClient(ctx, google...)
	c.instances, errs[2] = compute.NewInstancesRESTClient(ctx, google...)
	c.regionInstances, errs[3] = compute.NewRegionInstancesRESTClient(ctx, google...)
	c.policies, errs[4] = compute.NewResourcePoliciesRESTClient(ctx, google...)
	c.regionOperations, errs[5] = compute.NewRegionOperationsRESTClient(ctx, google...)
	c.zoneOperations, errs[6] = compute.NewZoneOperationsRESTClient(ctx, google...)
	c.advice, errs[7] = compute.NewAdviceRESTClient(ctx, google...)
	return cmp.Or(errs[:]...)
}

// Date is the time that Compute gave in its last answer, in whole seconds; zero
// before the first.
func (c *Client) Date() time.Time {
	if at := c.date.Load(); at != 0 {
		return time.Unix(at, 0)
	}
	return time.Time{}
}

// Close frees idle connections. Calls under way go on to their end.
func (c *Client) Close() error {
	(&http.Client{Transport: c.base}).CloseIdleConnections()
	return nil
}

// noRedirect makes a redirect an answer like any other: the API sends none, so
// a server that does is not the API.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// userAgent names the program. Compute compresses an answer only if the User-Agent contains "gzip",
// besides the Accept-Encoding that http.Transport sends. Source: "Improving performance", Using gzip.
func (o Options) userAgent() string {
	return "slurmflex/" + cmp.Or(o.Version, "unknown") + " (gzip)"
}

func (o Options) limiter() *limiter {
	perSecond, burst := o.Rate, o.Burst
	if perSecond <= 0 {
		perSecond = defaultRate
	}
	if burst <= 0 {
		burst = max(1, int(perSecond*burstSeconds))
	}
	return newLimiter(perSecond, burst)
}

func (o Options) log() *zap.Logger {
	if o.Log == nil {
		return zap.NewNop()
	}
	return o.Log
}

func baseURL(endpoint string) (string, error) {
	if endpoint == "" {
		return googleEndpoint, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", fmt.Errorf("endpoint %q: want a scheme and a host only, such as http://127.0.0.1:8900", endpoint)
	}
	return u.Scheme + "://" + u.Host, nil
}
