package flex

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"slurmflex/mig"
)

// hungCloud is a cloud whose CreateRequest for one group does not come back
// until it is let go, and then acts.
type hungCloud struct {
	Cloud
	group string
	let   chan struct{}
	mu    sync.Mutex
	asked map[string]int // how often requests were created, by group
}

func hang(w *world, group string) *hungCloud {
	h := &hungCloud{Cloud: w.Cloud, group: group, let: make(chan struct{}), asked: map[string]int{}}
	w.Cloud = h
	return h
}

func (h *hungCloud) CreateRequest(ctx context.Context, region, group string, spec mig.RequestSpec) error {
	h.mu.Lock()
	h.asked[group]++
	h.mu.Unlock()
	if group == h.group {
		select {
		case <-h.let:
		case <-ctx.Done():
			return &mig.Error{Op: "create resize request", Object: group, Cause: mig.CauseUnavailable, Err: ctx.Err()}
		}
	}
	return h.Cloud.CreateRequest(ctx, region, group, spec)
}

// begun is how often requests were created, by group.
func (h *hungCloud) begun() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.asked)
}

// listingCloud is a cloud that takes minutes to list its groups, in the middle of
// which something happens.
type listingCloud struct {
	Cloud
	meanwhile func()
}

func (l listingCloud) Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error) {
	time.Sleep(time.Minute)
	l.meanwhile()
	time.Sleep(time.Minute)
	return l.Cloud.Groups(ctx, cluster, regions)
}

// lateCloud is a hungCloud that is let go while the second pass still reads
// its instances.
type lateCloud struct {
	*hungCloud
	reads int
}

func (l *lateCloud) Instances(ctx context.Context, cluster string, regions []string) ([]mig.Instance, map[string]error) {
	instances, unseen := l.hungCloud.Instances(ctx, cluster, regions)
	if l.reads++; l.reads == 2 {
		time.Sleep(time.Second)
		close(l.let)
		time.Sleep(10 * time.Second)
	}
	return instances, unseen
}

// slowCloud is a cloud whose DeleteGroup takes a minute.
type slowCloud struct {
	Cloud
	deletions atomic.Int32
}

func (s *slowCloud) DeleteGroup(ctx context.Context, region, group string) error {
	s.deletions.Add(1)
	time.Sleep(time.Minute)
	return s.Cloud.DeleteGroup(ctx, region, group)
}

// silentCloud is a cloud that answers no list of groups before the caller has
// had enough.
type silentCloud struct{ Cloud }

func (silentCloud) Groups(ctx context.Context, _ string, regions []string) ([]mig.Group, map[string]error) {
	<-ctx.Done()
	unseen := map[string]error{}
	for _, region := range regions {
		unseen[region] = context.Cause(ctx)
	}
	return nil, unseen
}
