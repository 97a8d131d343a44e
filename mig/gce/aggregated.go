package gce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

const (
	// partialSuccess has an aggregated list leave out the zones that it cannot read and
	// name them, instead of failing. Source: the REST reference of v1, "To prevent failure,
	// we recommend that you set the returnPartialSuccess parameter to true". The discovery
	// document of v1 lacks the parameter, so v1 may refuse it as unknown.
	partialSuccess = "returnPartialSuccess"

	// refusalTime is how long the parameter is not sent after Compute has refused it.
	refusalTime = time.Hour

	// apartTime is how long the zones are listed one by one after the aggregated list has
	// failed. Then the aggregated list is tried again.
	apartTime = 5 * time.Minute

	// togetherTime bounds an aggregated list if the zones can be listed one by one. It
	// leaves time for that when Compute does not answer.
	togetherTime = 2 * time.Minute
)

// outages remembers how lists of several zones have failed, for a bounded time.
type outages struct {
	mu           sync.Mutex
	withoutUntil time.Time       // the parameter partialSuccess is not sent before
	apartUntil   time.Time       // the zones are listed one by one before
	apartWhy     error           // how the aggregated list failed when it was last read; nil if it did not
	dead         map[string]bool // the zones whose own list failed when it was last read
	used         map[string]map[string]bool
}

// sendsPartial reports whether the parameter partialSuccess is worth a try.
func (l *outages) sendsPartial(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !now.Before(l.withoutUntil)
}

func (l *outages) refusePartial(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.withoutUntil = now.Add(refusalTime)
}

// apart returns why the zones are listed one by one, nil if they are not.
func (l *outages) apart(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.apartUntil) {
		return l.apartWhy
	}
	return nil
}

// hasFailed reports whether the aggregated list failed when it was last read.
func (l *outages) hasFailed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apartWhy != nil
}

// noteTogether remembers how reading the aggregated list ended.
func (l *outages) noteTogether(err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.apartWhy = err; err != nil {
		l.apartUntil = now.Add(apartTime)
		return
	}
	l.apartUntil, l.dead = time.Time{}, nil
}

func (l *outages) isDead(zone string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead[zone]
}

// noteZone remembers how reading a zone's own list ended.
func (l *outages) noteZone(zone string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead == nil {
		l.dead = map[string]bool{}
	}
	l.dead[zone] = err != nil
}

// usedBy returns the zones that had instances of the cluster when they were last read.
func (l *outages) usedBy(cluster string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.used[cluster]))
}

// noteUsed remembers the zones that have instances of the cluster. A zone that could not
// be read, or was not asked for, has those that it had.
func (l *outages) noteUsed(cluster string, has map[string]bool, unread func(zone string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used == nil {
		l.used = map[string]map[string]bool{}
	}
	for zone := range l.used[cluster] {
		if unread(zone) {
			has[zone] = true
		}
	}
	l.used[cluster] = has
}

// readAggregated reads an aggregated list with what readAll takes, and asks for partial
// success as long as Compute takes that.
func (c *Client) readAggregated(ctx context.Context, collection string, query url.Values, items func(*stream) error, page func(head) error) error {
	now := time.Now()
	below := "aggregated/" + collection
	if !c.outages.sendsPartial(now) {
		return c.readAll(ctx, below, query, items, page)
	}
	query.Set(partialSuccess, "true")
	err := c.readAll(ctx, below, query, items, page)
	if !refusesPartial(err) {
		return err
	}
	c.outages.refusePartial(now)
	query.Del(partialSuccess)
	return c.readAll(ctx, below, query, items, page)
}

// refusesPartial reports whether Compute has refused a call for its parameter
// partialSuccess, which it does before the first page.
func refusesPartial(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusBadRequest &&
		strings.Contains(answerFault(answer).message, partialSuccess)
}

// TakesPartialSuccess lists instances of the cluster with the parameter by which an
// aggregated list names the zones that it cannot read instead of failing. The error says
// how Compute refuses the parameter.
func (c *Client) TakesPartialSuccess(ctx context.Context, cluster string) error {
	query := url.Values{"filter": {namesOf(cluster)}, "fields": {"kind,nextPageToken"}, partialSuccess: {"true"}}
	err := c.readAll(calling(ctx, aggregatedInstances), "aggregated/instances", query, func(s *stream) error { s.next(); return nil }, nil)
	return failure("list instances with", partialSuccess, reading, err)
}

// mayListApart reports whether the zones' own lists may succeed where the aggregated list
// has failed. A lack of permission or too many calls concern these as well.
func mayListApart(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	cause, _ := causeOfError(err, reading)
	return cause != mig.CausePermission && cause != mig.CauseRate
}

// readTogether reads all instances from the aggregated list. If the zones can be listed
// one by one, it gives up early, and after one attempt if the list failed last time.
func (c *Client) readTogether(ctx context.Context, v *view) error {
	query := url.Values{"filter": {namesOf(v.cluster)}, "fields": {aggregated + ",items/*/instances(" + v.fields() + ")"}}
	ctx = calling(ctx, aggregatedInstances)
	if len(v.zones) > 0 {
		var over context.CancelFunc
		ctx, over = context.WithTimeoutCause(ctx, togetherTime, fmt.Errorf("not read within %s", togetherTime))
		defer over()
		if c.outages.hasFailed() {
			ctx = tryingOnce(ctx)
		}
	}
	return c.readAggregated(ctx, "instances", query, v.addItems, v.add)
}

// readApart reads the instances from the zones' own lists, side by side. A region with a
// zone that could not be read is missed, and so is one whose zones are not known, for the
// reason why the aggregated list failed.
func (c *Client) readApart(ctx context.Context, v *view, why error) {
	for region := range v.seen {
		if len(v.zones[region]) == 0 {
			v.missed[region] = why
		}
	}
	zones := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(v.zones))...)))
	texts := make([][][]byte, len(zones))
	fields := "kind,nextPageToken,warning(code,message),items(" + v.fields() + ")"
	errs := c.eachZoneApart(ctx, zones, url.Values{"filter": {namesOf(v.cluster)}, "fields": {fields}}, func(i int, text []byte) error {
		texts[i] = append(texts[i], text)
		return nil
	})
	v.apart = true
	for i, zone := range zones {
		for _, text := range texts[i] {
			if errs[i] == nil {
				errs[i] = v.addInstance(mig.RegionOf(zone), zone, text)
			}
		}
		if errs[i] != nil {
			v.miss(mig.RegionOf(zone), zone, &zoneError{zone, errs[i]})
		}
	}
}

// eachZoneApart calls each with the place of a zone and the text of an instance in the
// zone's list. It reads the zones side by side, and those whose list failed last time in
// one attempt. It returns the zones' errors.
func (c *Client) eachZoneApart(ctx context.Context, zones []string, query url.Values, each func(i int, text []byte) error) []error {
	errs := make([]error, len(zones))
	ctx = calling(ctx, "instances.list")
	var side errgroup.Group
	side.SetLimit(sideBySide)
	for i, zone := range zones {
		side.Go(func() error {
			ctx := ctx
			if c.outages.isDead(zone) {
				ctx = tryingOnce(ctx)
			}
			errs[i] = c.readAll(ctx, escaped("zones", zone, "instances"), maps.Clone(query), func(s *stream) error {
				return eachText(s, func(text []byte) error { return each(i, text) })
			}, nil)
			c.outages.noteZone(zone, errs[i])
			return nil
		})
	}
	_ = side.Wait()
	return errs
}

// findMakersApart asks the zones that were read who made their machines of which that is
// not known. A region with a zone that does not say is missed.
func (c *Client) findMakersApart(ctx context.Context, v *view) map[machineID]trace {
	names := map[string][]string{}
	for _, seen := range v.seen {
		for _, s := range seen {
			if !s.known && v.missed[s.Region] == nil {
				names[s.Zone] = append(names[s.Zone], s.Name)
			}
		}
	}
	found := map[machineID]trace{}
	var mu sync.Mutex
	zones := slices.Sorted(maps.Keys(names))
	filter := namesOf(v.cluster)
	if all := slices.Concat(slices.Collect(maps.Values(names))...); len(all) <= namesAtOnce {
		slices.Sort(all)
		filter = anyName(all)
	}
	fields := "kind,nextPageToken,warning(code,message),items(" + makerOf + ")"
	errs := c.eachZoneApart(ctx, zones, url.Values{"filter": {filter}, "fields": {fields}}, func(i int, text []byte) error {
		m, wrong, err := readRow[listedInstance](text)
		mu.Lock()
		defer mu.Unlock()
		found[idOf(zones[i], m)] = traceOf(m, mig.RegionOf(zones[i]), wrong)
		return err
	})
	for i, zone := range zones {
		if errs[i] != nil {
			v.miss(mig.RegionOf(zone), zone, &zoneError{zone, errs[i]})
		}
	}
	return found
}

// tellApart logs that the zones are listed one by one from now on.
func (c *Client) tellApart(err error) {
	c.log.Warn("the aggregated list of instances fails: zones are listed one by one",
		zap.String("error", textOf(err)), zap.Duration("for", apartTime))
}
