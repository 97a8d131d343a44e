package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"slurmflex/test/must"
)

// The scale-up and scale-down.
const (
	manyJobs = 250
	manySize = 16
	// Each job costs a group and a request on the way up, the deletion of its
	// instances and of its group on the way down.
	manyCalls = 2 * manyJobs
)

// savingTime is for how long a client saves up calls that it does not make.
const savingTime = 10 * time.Second

// floor is the least time in which one way can be gone: the calls, those that
// are refused and come again included, less what is saved up, and the two
// operations of the last one.
func floor() time.Duration {
	calls := manyCalls / (1 - throttled)
	return time.Duration(calls/usualRate*float64(time.Second)) - savingTime + 2*time.Second
}

// throttled is the part of the calls that throttle refuses.
const throttled = 0.2

const tooMany = `{"error":{"code":403,"message":"Rate Limit Exceeded","errors":[{"message":"Rate Limit Exceeded","domain":"usageLimits","reason":"rateLimitExceeded"}]}}`

// throttle refuses a part of the calls as Compute does when there are too many,
// by the dice of one seed.
func throttle(next http.Handler) http.Handler {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(1, 2))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		refused := dice.Float64() < throttled
		mu.Unlock()
		if refused {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, tooMany) // a client that has gone needs no answer
			return
		}
		next.ServeHTTP(w, r)
	})
}

// upAndDown gives 4,000 nodes to 250 jobs at once, and takes them away again.
// A fifth of the calls to the cloud is refused.
func (b *bench) upAndDown(ctx context.Context) []float64 {
	h := b.newHost(setting{nodes: manyJobs * manySize, rate: usualRate, interval: usualInterval, front: throttle})
	defer h.end()
	h.begin(ctx)
	jobs, most := h.submit(manyJobs, manySize), 0
	h.await(ctx, "all nodes to be up", func() bool {
		st, asked, up := h.cloud.State(), 0, 0
		for _, g := range st.Groups {
			asked += max(g.TargetSize, len(g.Members))
		}
		for _, in := range st.Instances {
			if in.Status == "RUNNING" {
				up++
			}
		}
		most = max(most, asked)
		return up == manyJobs*manySize
	})
	up := h.sinceCall()
	h.await(ctx, "all jobs to run", func() bool { return h.allRun(jobs) })
	h.awaitRest(ctx, "calls to be saved up", savingTime)
	h.called.Store(nil)
	for _, id := range jobs {
		must.Do(h.slurm.Cancel(id))
	}
	h.await(ctx, "nothing to be left", func() bool {
		st := h.cloud.State()
		return len(st.Instances)+len(st.Groups) == 0
	})
	return []float64{up.Seconds(), h.sinceCall().Seconds(), float64(most)}
}
