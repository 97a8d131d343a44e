package gce

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// unusedLimit bounds the time for reading a zone that the cluster does not use, because such a
	// zone must not delay passes when it does not answer.
	unusedLimit = 5 * time.Second

	// unusedPause is how long such a zone is left out after it could not be read.
	unusedPause = 5 * time.Minute
)

// outages remembers which zones could not be read. The zero value is ready.
type outages struct {
	mu     sync.Mutex
	failed map[string]time.Time // by zone, or by region for its list of zones: when the last read failed
}

// read calls read for a zone. After a failure, the next read makes a single attempt. A zone that is
// not used gets a single attempt in a short time, and its errors do not count.
func (o *outages) read(ctx context.Context, zone string, used bool, read func(context.Context) error) error {
	o.mu.Lock()
	last, failed := o.failed[zone]
	o.mu.Unlock()
	if !used {
		if failed && time.Since(last) < unusedPause {
			return nil
		}
		var over context.CancelFunc
		ctx, over = context.WithTimeoutCause(ctx, unusedLimit, fmt.Errorf("not read within %s", unusedLimit))
		defer over()
	}
	if failed || !used {
		ctx = tryingOnce(ctx)
	}
	err := read(ctx)
	o.note(zone, err)
	if !used {
		return nil
	}
	return err
}

func (o *outages) note(zone string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		delete(o.failed, zone)
		return
	}
	if o.failed == nil {
		o.failed = map[string]time.Time{}
	}
	o.failed[zone] = time.Now()
}
