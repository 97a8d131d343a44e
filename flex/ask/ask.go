// Package ask asks the daemon of this host what it saw last.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex/view"
)

// askLimit bounds a question to the daemon, which answers from memory.
const askLimit = 10 * time.Second

// answerSize is the longest answer that is read, in bytes: that of some hundred
// thousand jobs.
const answerSize = 64 << 20

// Daemon is the daemon of a configuration, which may be invalid or unreadable.
type Daemon struct {
	Config string // the path of the file
}

// View asks the daemon what it saw last.
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

// Story asks the daemon what it recorded of a job; nil if it recorded nothing.
func (d Daemon) Story(ctx context.Context, at config.Glance, job string) *view.Past {
	status, body, err := d.get(ctx, reachable(at.HTTPAddress), "/story.json?q="+url.QueryEscape(job))
	var past view.Past
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &past) != nil {
		return nil
	}
	return &past
}

// Metrics asks the daemon for its metrics, in Prometheus's text format.
func (d Daemon) Metrics(ctx context.Context, at config.Glance) ([]byte, error) {
	status, body, err := d.get(ctx, reachable(at.HTTPAddress), "/metrics")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the daemon answers %d %s", status, http.StatusText(status))
	}
	return body, err
}

// get gets a path from the daemon at an address.
func (d Daemon) get(ctx context.Context, address, path string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("ask the daemon at %s: %w", address, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: d.dial}} // no proxy, because the daemon is local
	answer, err := client.Do(r)
	if other := (Impostor{}); errors.As(err, &other) {
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

// reachable is the address under which a daemon can be asked that listens on
// the given one: without a host it listens on all.
func reachable(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// cause is the bare reason why a call has failed, where it is a usual one.
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
