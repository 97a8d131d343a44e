// Package ask asks this host's daemon about the cluster and about jobs.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex/view"
)

// askLimit bounds a request to the daemon, which answers from memory.
const askLimit = 10 * time.Second

// answerSize is the longest answer that Daemon reads, in bytes: enough for some hundred thousand
// jobs.
const answerSize = 64 << 20

// Daemon is the daemon of a configuration. The configuration may be invalid or unreadable.
type Daemon struct {
	Config string // path of the configuration file
}

// View returns the daemon's latest view of the cluster.
func (d Daemon) View(ctx context.Context, at config.Glance) (view.View, error) {
	address := reachable(at.HTTPAddress)
	status, body, err := d.get(ctx, address, "/status.json")
	if err != nil {
		return view.View{}, err
	}
	if status != http.StatusOK {
		return view.View{}, fmt.Errorf("the daemon at %s answers %d %s: %s", address, status, http.StatusText(status),
			view.Clip(view.Printable(strings.TrimSpace(string(body))), 200))
	}
	var v view.View
	switch err := json.Unmarshal(body, &v); {
	case err != nil:
		return view.View{}, fmt.Errorf("the server at %s is not a slurmflex daemon: %w; correct slurmflex.http_address", address, err)
	case at.Cluster != "" && v.Cluster != at.Cluster:
		return view.View{}, fmt.Errorf("the daemon at %s serves cluster %q; give each cluster its own slurmflex.http_address",
			address, view.Printable(v.Cluster))
	}
	return v, nil
}

// ViewOr returns the daemon's latest view, which any user may read. Without a daemon, it calls read,
// which reads Slurm and Compute. cfg is the daemon's configuration, or wrong is why it cannot be
// loaded: the file must exist and name its cluster, or be unreadable for this user, because a running
// daemon has a valid one.
func (d Daemon) ViewOr(ctx context.Context, cfg *config.Config, wrong error, read func() (view.View, error)) (view.View, error) {
	at := config.GlanceAt(d.Config)
	switch {
	case wrong == nil:
		at = config.Glance{Cluster: cfg.Cluster, RunDir: cfg.Options.RunDir, HTTPAddress: cfg.Options.HTTPAddress}
	case at.Cluster == "" && !errors.Is(wrong, fs.ErrPermission):
		return view.View{}, wrong // a daemon at the default address may serve another cluster
	}
	v, err := d.View(ctx, at)
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &impostor{}):
		return view.View{}, err // an admin must know, so nothing else is shown
	case wrong != nil:
		return view.View{}, wrong
	}
	v, unread := read()
	if unread != nil {
		return view.View{}, fmt.Errorf("%w; reading Slurm and Compute directly failed too: %w", err, unread)
	}
	return v, nil
}

// Story returns the daemon's record of a job, or nil.
func (d Daemon) Story(ctx context.Context, at config.Glance, job string) *view.Past {
	status, body, err := d.get(ctx, reachable(at.HTTPAddress), "/story.json?q="+url.QueryEscape(job))
	var past view.Past
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &past) != nil {
		return nil
	}
	return &past
}

// get requests a path from the daemon at an address.
func (d Daemon) get(ctx context.Context, address, path string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("ask the daemon at %s: %w", address, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: d.dial}} // no proxy, because the daemon is local
	answer, err := client.Do(r)
	if other := (impostor{}); errors.As(err, &other) {
		return 0, nil, other
	}
	if err != nil {
		return 0, nil, fmt.Errorf("no daemon answers at %s (%w)", address, cause(err))
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, answerSize)); err != nil {
		return 0, nil, fmt.Errorf("read the daemon's answer from %s: %w", address, err)
	}
	return answer.StatusCode, body, nil
}

// reachable turns a listen address into one that clients can dial. Without a host, the daemon
// listens on all addresses.
func reachable(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// cause reduces the error of a failed call to its reason, for the usual reasons.
func cause(err error) error {
	var errno unix.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s", askLimit)
	case errors.As(err, &errno):
		return errno
	}
	return err
}
