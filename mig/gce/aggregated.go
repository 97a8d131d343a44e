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
	// partialSuccess makes Compute omit unreadable zones from an aggregated list and name them,
	// instead of failing the call. Source: the REST reference of v1, "To prevent failure, we
	// recommend that you set the returnPartialSuccess parameter to true". The discovery document of
	// v1 lacks the parameter, so v1 may reject it as unknown.
	partialSuccess = "returnPartialSuccess"

	// refusalTime is how long slurmflex omits the parameter after Compute has rejected it.
	refusalTime = time.Hour

	// apartTime is how long slurmflex lists the zones one by one after the aggregated list has
	// failed.
	apartTime = 5 * time.Minute

	// togetherTime bounds an aggregated list if the zones can be listed one by one. The bound
	// leaves time for these lists when Compute does not answer.
	togetherTime = 2 * time.Minute
)

// outages records for a limited time how lists of several zones have failed.
type outages struct {
	mu           sync.Mutex
	withoutUntil time.Time       // omit the parameter partialSuccess until then
	apartUntil   time.Time       // list the zones one by one until then
	apartWhy     error           // error of the last aggregated list; nil if it succeeded
	dead         map[string]bool // zones with a failed last list of their own
	used         map[string]map[string]bool
}

// sendsPartial reports whether to send the parameter partialSuccess.
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

// apart returns the error that made slurmflex list the zones one by one; nil if it lists them
// together.
func (l *outages) apart(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.apartUntil) {
		return l.apartWhy
	}
	return nil
}

// hasFailed reports whether the last aggregated list failed.
func (l *outages) hasFailed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apartWhy != nil
}

// noteTogether records the result of an aggregated list.
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

// noteZone records the result of a zone's own list.
func (l *outages) noteZone(zone string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead == nil {
		l.dead = map[string]bool{}
	}
	l.dead[zone] = err != nil
}

// usedBy returns the zones that last showed instances of the cluster.
func (l *outages) usedBy(cluster string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.used[cluster]))
}

// noteUsed records the zones that have instances of the cluster. Zones that could not be read or
// were not requested keep their previous value.
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

// readAggregated is readAll for an aggregated list. It asks for partial success unless Compute has
// recently rejected the parameter.
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

// refusesPartial reports whether Compute rejected the call because of its parameter partialSuccess.
// Compute does so before the first page.
func refusesPartial(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusBadRequest &&
		strings.Contains(answerFault(answer).message, partialSuccess)
}

// TakesPartialSuccess lists the cluster's instances with the parameter that makes an aggregated
// list name unreadable zones instead of failing. The error holds Compute's reason for rejecting the
// parameter.
func (c *Client) TakesPartialSuccess(ctx context.Context, cluster string) error {
	query := url.Values{"filter": {namesOf(cluster)}, "fields": {"kind,nextPageToken"}, partialSuccess: {"true"}}
	err := c.readAll(calling(ctx, aggregatedInstances), "aggregated/instances", query, func(s *stream) error { s.next(); return nil }, nil)
	return failure("list instances with", partialSuccess, reading, err)
}

// mayListApart reports whether the zones' own lists may succeed after the aggregated list has
// failed. They cannot after a missing permission, rejected credentials or too many calls.
func mayListApart(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	cause, _ := causeOfError(err, reading)
	return cause != mig.CausePermission && cause != mig.CauseCredentials && cause != mig.CauseRate
}

// readTogether reads all instances from the aggregated list. If the zones can be listed one by one,
// it stops early, and makes only one attempt if the previous list failed.
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

// readApart reads the instances from the zones' own lists in parallel. It marks a region as missed
// if one of its zones could not be read. If a region's zones are unknown, the region is missed with
// the aggregated list's error.
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

// eachZoneApart calls each with the index of a zone and the text of an instance in the zone's list.
// It reads the zones in parallel, with a single attempt for zones with a failed last list. It
// returns one error per zone.
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

// findMakersApart asks the zones that were read for the unknown groups of their machines. It marks
// a region as missed if one of its zones does not answer.
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

// tellApart logs that the zones will be listed one by one.
func (c *Client) tellApart(err error) {
	c.log.Warn("the aggregated list of instances fails: zones are listed one by one",
		zap.String("error", textOf(err)), zap.Duration("for", apartTime))
}
