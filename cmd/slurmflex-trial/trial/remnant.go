package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
)

// killedAfter is the time without a new resource after which a trial counts as killed. A running
// trial creates resources, or ends, more often than that.
const killedAfter = time.Hour

// remnant is another trial of the cluster that has a group or a workload policy.
type remnant struct {
	spec      // with what leave needs
	hasPolicy bool
	last      time.Time // when it last created something; zero: unknown
}

// String describes the remnant.
func (r *remnant) String() string {
	return fmt.Sprintf("%s in %s is another trial of the cluster, running or killed", r.name(), r.region)
}

// note records when the trial created something.
func (r *remnant) note(created time.Time) {
	if created.After(r.last) {
		r.last = created
	}
}

// remnants returns the cluster's other trials, and an error for the regions that it could not read.
// It leaves out what it does not understand, such as what a newer slurmflex created.
func remnants(ctx context.Context, cfg *config.Config, cloud cloud) (all []*remnant, errs error) {
	regions := cfg.FlexRegions()
	groups, unseen := cloud.Groups(ctx, owner(cfg.Cluster), regions)
	policies, unseenPolicies := cloud.Policies(ctx, owner(cfg.Cluster), regions)
	for _, region := range regions {
		if err := cmp.Or(unseen[region], unseenPolicies[region]); err != nil {
			errs = errors.Join(errs, fmt.Errorf("other trials in %s are unknown: %w", region, err))
		}
	}
	of := func(name, suffix, region string, stamp mig.Stamp) *remnant {
		random := strings.TrimSuffix(strings.TrimPrefix(name, owner(cfg.Cluster)+"-"), suffix)
		s := spec{cluster: cfg.Cluster, nodeSet: stamp.NodeSet, region: region, random: random}
		i := slices.IndexFunc(all, func(r *remnant) bool { return r.name() == s.name() && r.region == region })
		if i < 0 {
			i, all = len(all), append(all, &remnant{spec: s})
		}
		return all[i]
	}
	for _, g := range groups {
		if g.Stamp.Version != mig.StampVersion {
			continue
		}
		r := of(g.Name, groupSuffix, g.Region, g.Stamp)
		r.zones = g.Zones
		r.note(g.Created)
		for _, request := range g.Requests {
			r.note(request.Created)
		}
	}
	for _, p := range policies {
		if p.Stamp.Version != mig.StampVersion {
			continue
		}
		r := of(p.Name, policySuffix, p.Region, p.Stamp)
		r.hasPolicy = true
		r.note(p.Created)
	}
	return all, errs
}

// clean deletes the resources of killed trials.
func (t *trial) clean(ctx context.Context, others []*remnant) (errs error) {
	for _, r := range others {
		if ctx.Err() != nil {
			return errors.Join(errs, interrupted(ctx))
		}
		now, err := t.cloud.Clock(ctx, r.region)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		if r.last.IsZero() || now.Sub(r.last) < killedAfter {
			t.say(fmt.Sprintf("%s stays: it may be running; try again an hour after it was killed", r.name()))
			continue
		}
		t.spec, t.seen, t.created = r.spec, seen{spec: r.spec}, true
		if r.hasPolicy { // leave then deletes the policy, and awaits no late one
			t.seen.note("create policy", nil, nil)
			t.seen.note("delete policy", nil, nil)
		}
		if left, err := t.leave(ctx); err != nil || len(left) > 0 {
			errs = errors.Join(errs, fmt.Errorf("%s: left behind: %s", r.name(), leftBehind(left, err)))
		}
	}
	return errs
}
