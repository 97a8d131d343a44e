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
	failed sync.Map // by zone, or by region for its list of zones: the time.Time when the last read failed
}

// read calls read for a zone. After a failure, the next read makes a single attempt. A zone that is
// not used gets a single attempt in a short time, and its errors do not count.
func (o *outages) read(ctx context.Context, zone string, used bool, read func(context.Context) error) error {
	at, failed := o.failed.Load(zone)
	if !used {
		if last, _ := at.(time.Time); time.Since(last) < unusedPause {
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
	if err == nil {
		o.failed.Delete(zone)
		return nil
	}
	o.failed.Store(zone, time.Now())
	if !used {
		return nil
	}
	return err
}
