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
	// Each job costs a group and a request on scale-up, and the deletion of its instances and its
	// group on scale-down.
	manyCalls = 2 * manyJobs
)

// savingTime is the period of unused calls that a client may save up for a burst.
const savingTime = 10 * time.Second

// floor is the minimum duration of a scale-up or scale-down: the calls, including rejected calls
// that are repeated, minus the saved-up calls, plus the two operations of the last job.
func floor() time.Duration {
	calls := manyCalls / (1 - throttled)
	return time.Duration(calls/usualRate*float64(time.Second)) - savingTime + 2*time.Second
}

// throttled is the part of the calls that throttle rejects.
const throttled = 0.2

const tooMany = `{"error":{"code":403,"message":"Rate Limit Exceeded","errors":[{"message":"Rate Limit Exceeded","domain":"usageLimits","reason":"rateLimitExceeded"}]}}`

// throttle rejects a part of the calls, as Compute does when there are too many. The choice is
// random with a fixed seed.
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

// upAndDown gives 4,000 nodes to 250 jobs at once, and then removes them. The cloud rejects a fifth
// of the calls.
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
