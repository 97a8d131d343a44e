// Package gce is the only package that calls Compute Engine. It maps regional managed instance
// groups, their resize requests, instances, instance templates and workload policies to the values
// of package mig, and every API error to a mig.Cause.
//
// A Client caches only data that cannot change unnoticed (see settled): each method asks Compute
// again. Data that could not be read is reported as unseen, never as empty.
package gce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"go.uber.org/zap"
	rest "google.golang.org/api/compute/v1"
	"google.golang.org/api/option"
)

const googleEndpoint = "https://compute.googleapis.com"

// Compute's lowest default quota is 1,500 calls per minute for a group of methods, reset at each
// full minute. One minute at defaultRate after a burst of burstSeconds makes 1,400 calls.
const (
	defaultRate  = 20 // calls per second
	burstSeconds = 10
)

// Options configures the access to Compute. Only Project is required.
type Options struct {
	Project string // the project's id
	Version string // of this program, for the User-Agent; empty for "unknown"

	// Endpoint is the scheme and host of an API other than Google's own, such as
	// http://127.0.0.1:8900. Such an API receives tokens only from a CredentialsFile, never from
	// the default credentials.
	Endpoint string

	// CredentialsFile is a file of Google credentials. If it is empty, calls to Google's own API
	// use the Application Default Credentials.
	CredentialsFile string

	// Regions are the regions that another program serves.
	Regions []Region

	// Transport sends the calls; nil for a default transport over TCP.
	Transport http.RoundTripper

	Rate  float64 // calls per second, 0 for 20; calls that wait for operations have a separate limit of this rate
	Burst int     // calls that may be made at once after a pause, 0 for 10 s of Rate

	// Jitter chooses the pause before a retry, up to most; nil for a random pause.
	Jitter func(most time.Duration) time.Duration

	Log *zap.Logger // one line per call at debug level; nil for none

	// Observe is called after every call, including retries, with the API's name of the method,
	// such as instances.list, and the HTTP status, 0 without an answer. Several
	// goroutines may call it at once. It may be nil.
	Observe func(method string, status int, took time.Duration)
}

// Client calls Compute for one project. It is safe for concurrent use. All its calls share one rate
// limit, except those that wait for operations, because Compute counts these separately.
type Client struct {
	project  string
	endpoint string
	base     http.RoundTripper // the underlying transport of http
	http     *http.Client

	settled settled
	makers  makers
	zones   sync.Map // by region: the zonesAt of the last read
	outages outages
	ids     requestIDs
	log     *zap.Logger
	date    *atomic.Int64 // Compute's time in its last answer, in epoch seconds; 0: no answer yet

	groups          *compute.RegionInstanceGroupManagersClient
	requests        *compute.RegionInstanceGroupManagerResizeRequestsClient
	instances       *compute.InstancesClient
	regionInstances *compute.RegionInstancesClient
	policies        *compute.ResourcePoliciesClient
}

// New creates a client. It makes no call to Compute, but the search for credentials may look for a
// metadata server.
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
	c := &Client{
		project:  o.Project,
		endpoint: endpoint,
		base:     base,
		date:     new(atomic.Int64),
		log:      o.log(),
	}
	sent, err := o.transport(ctx, base, c.date)
	if err != nil {
		return nil, fmt.Errorf("compute client: %w", err)
	}
	c.http = &http.Client{Transport: sent, CheckRedirect: noRedirect}
	if err := c.connect(ctx); err != nil {
		return nil, fmt.Errorf("compute client: %w", err)
	}
	return c, nil
}

// connect creates Google's clients, all of which send their calls through c.http.
func (c *Client) connect(ctx context.Context) error {
	google := []option.ClientOption{option.WithHTTPClient(c.http), option.WithEndpoint(c.endpoint)}
	var errs [6]error
	c.groups, errs[0] = compute.NewRegionInstanceGroupManagersRESTClient(ctx, google...)
	c.requests, errs[1] = compute.NewRegionInstanceGroupManagerResizeRequestsRESTClient(ctx, google...)
	c.instances, errs[2] = compute.NewInstancesRESTClient(ctx, google...)
	c.regionInstances, errs[3] = compute.NewRegionInstancesRESTClient(ctx, google...)
	c.policies, errs[4] = compute.NewResourcePoliciesRESTClient(ctx, google...)
	_, errs[5] = c.newREST(ctx)
	return cmp.Or(errs[:]...)
}

// rest returns Google's client that reads. It is made for each call: as a field of the Client, it
// would add 13 MiB to the program, because the linker keeps the methods of all types that reflection
// can reach.
func (c *Client) rest() *rest.Service {
	s, err := c.newREST(context.Background())
	if err != nil {
		panic(err) // connect has made one
	}
	return s
}

func (c *Client) newREST(ctx context.Context) (*rest.Service, error) {
	return rest.NewService(ctx, option.WithHTTPClient(c.http), option.WithEndpoint(c.endpoint+"/compute/v1/"))
}

// Date returns the time in Compute's last answer, in whole seconds; zero before the first answer.
func (c *Client) Date() time.Time {
	if at := c.date.Load(); at != 0 {
		return time.Unix(at, 0)
	}
	return time.Time{}
}

// Close closes idle connections. It does not interrupt running calls.
func (c *Client) Close() error {
	(&http.Client{Transport: c.base}).CloseIdleConnections()
	return nil
}

// noRedirect treats a redirect like any other answer: the API sends none, so a server that
// redirects is not the API.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// userAgent returns the program's name and version. Compute compresses an answer only if the
// User-Agent contains "gzip", in addition to the Accept-Encoding that http.Transport sends. Source:
// "Improving performance", Using gzip.
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
