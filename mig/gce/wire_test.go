package gce

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	rest "google.golang.org/api/compute/v1"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/mig"
	"slurmflex/test/must"
)

func TestTransientFaultIsRetried(t *testing.T) {
	const concurrent = `{"error":{"code":403,"message":"Rate Limit Exceeded","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",
		"reason":"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED","domain":"compute.googleapis.com"}]}}`
	for _, faults := range []struct {
		pass bool
		all  map[string]http.HandlerFunc
	}{
		{true, map[string]http.HandlerFunc{
			"401":                     refusal(401, "authError", "Request had invalid authentication credentials."),
			"429":                     refusal(429, "rateLimitExceeded", "Quota exceeded"),
			"502 from a proxy":        answer(502, "<html>Bad Gateway</html>"),
			"503":                     refusal(503, "backendError", "Try again"),
			"403 rateLimitExceeded":   refusal(403, "rateLimitExceeded", "Rate Limit Exceeded"),
			"concurrent operations":   answer(403, concurrent),
			"a page that is not JSON": answer(200, "<html>Log in</html>"),
			"half a page":             answer(200, `{"items":[{"name":"alp`),
			"an empty answer":         answer(200, ""),
		}},
		{false, map[string]http.HandlerFunc{
			"403 for want of IAM": refusal(403, "forbidden", "Required 'compute.instanceGroupManagers.delete' permission"),
			"403 from a proxy":    answer(403, "<html>Forbidden</html>"),
			"404":                 refusal(404, "notFound", "was not found"),
			"412":                 refusal(412, "conditionNotMet", "final state"),
			"a redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://elsewhere/", http.StatusFound)
			},
		}},
	} {
		for name, fault := range faults.all {
			synctest.Test(t, func(t *testing.T) {
				api := answers(fault, fault, ok(done))
				err := deleteGroup(t, clientOf(t, inMemory{api}))
				assert.Equal(t, faults.pass, err == nil, name)
				assert.Len(t, api.calls, map[bool]int{true: 3, false: 1}[faults.pass], name)
			})
		}
	}
}

func TestRetriedMutationKeepsRequestIDAndBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := answers(answer(503, ""), answer(503, ""), ok(done))
		c := clientOf(t, inMemory{api})
		require.NoError(t, c.CreateGroup(t.Context(), testGroup))
		require.Len(t, api.calls, 3)
		assert.Equal(t, api.calls[0], api.calls[1])
		assert.Equal(t, api.calls[0], api.calls[2])
		first := must.Get(url.ParseQuery(api.calls[0].query))
		assert.Len(t, first.Get("requestId"), 36)
		assert.NotEmpty(t, api.calls[0].body)

		require.NoError(t, c.CreateGroup(t.Context(), testGroup))
		assert.NotEqual(t, api.calls[0].query, api.calls[3].query, "the next call is another mutation")
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, c := range map[string]struct {
		header func(now time.Time) string
		cause  mig.Cause
		took   time.Duration
	}{
		"in seconds": {func(time.Time) string { return "20" }, mig.CauseNone, 20 * time.Second},
		"as a date": {
			func(now time.Time) string { return now.Add(30 * time.Second).UTC().Format(http.TimeFormat) }, mig.CauseNone, 30 * time.Second,
		},
		"beyond a minute it ends the call": {func(time.Time) string { return "3600" }, mig.CauseUnavailable, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			start := time.Now()
			busy := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", c.header(start))
				answer(503, "")(w, r)
			}
			err := deleteGroup(t, clientOf(t, inMemory{answers(busy, ok(done))}))
			assert.Equal(t, c.cause, mig.CauseOf(err))
			assert.Equal(t, c.took, time.Since(start))
		})
	}
}

// hung is an API that accepts calls and never answers.
func hung(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestUnansweredCallIsRetriedAfter30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := groupsIn(t, clientOf(t, roundTripper(hung)))
		failsWith(t, err, mig.CauseUnavailable, "list groups of us-central1: no answer within 30s: context deadline exceeded (after 2 attempts)")
		assert.InDelta(t, 60, time.Since(start).Seconds(), 1, "a silent Compute does not hold up Slurm's side of a pass")
	})
}

func TestHungCallIsRetriedWhileComputeAnswersOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := clientOf(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/instances") {
				return hung(r)
			}
			return inMemory{aList(`{}`)}.RoundTrip(r)
		}))
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range 30 {
				time.Sleep(10 * time.Second)
				_, err := groupsIn(t, c)
				assert.NoError(t, err)
			}
		}()
		_, unseen := c.Instances(t.Context(), "alpha", []string{testRegion}, "us-central1-a")
		require.ErrorContains(t, unseen[testRegion], "after 6 attempts")
		assert.InDelta(t, 188, time.Since(start).Seconds(), 8)
		<-over
	})
}

func TestAnswerLimitDependsOnTheRequestedFields(t *testing.T) {
	c := clientOf(t, inMemory{aList(`{"items":[],"x":"` + strings.Repeat("x", answerLimit) + `"}`)}, func(o *Options) { o.Rate = 1e6 })
	list := func(fields string) error {
		_, err := c.listInstances(tryingOnce(t.Context()), "us-central1-a", "", fields, func(*rest.Instance) error { return nil })
		return err
	}
	require.ErrorContains(t, list("items(name)"), "answer longer than 16777216 bytes")
	require.NoError(t, list(makerFields), "metadata may be long")
}

// The List of Google's client does not pass its context on.
func TestCancelledContextEndsAHungCallImmediately(t *testing.T) {
	reached := make(chan struct{}, 8)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reached <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(api.Close)
	c := clientOf(t, nil, func(o *Options) { o.Endpoint = api.URL })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	start := time.Now()
	_, unseen := c.Groups(ctx, "alpha", []string{testRegion})
	require.ErrorIs(t, unseen[testRegion], context.Canceled)
	assert.Equal(t, mig.CauseUnavailable, mig.CauseOf(unseen[testRegion]))
	assert.Less(t, time.Since(start), 10*time.Second, "well before the time limit of an attempt")
}

func TestUnusableEndpointIsAClearOneLineError(t *testing.T) {
	refused := func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	for want, api := range map[string]http.RoundTripper{
		"dial tcp: connection refused (after 6 attempts)":                     roundTripper(refused),
		`answer is not JSON: "<html> <body>Log in</body>" (after 6 attempts)`: inMemory{ok("<html>\n<body>Log in</body>")},
		`answer not understood`: inMemory{aList(`{"items":7}`)},
		`502 not Google's answer: Bad Gateway: "<html> Bad </html>"`: inMemory{answer(502, "<html>\nBad\n</html>")},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := groupsIn(t, clientOf(t, api))
			require.ErrorContains(t, err, "list groups of us-central1: ")
			require.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "\n")
			assert.Equal(t, mig.CauseUnavailable, mig.CauseOf(err))
		})
	}
}

// C16: a small answer that unpacks to a large one, and an endless answer.
func TestAnswerLimitCountsUncompressedBytes(t *testing.T) {
	for name, send := range map[string]func(w http.ResponseWriter){
		"packed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = packed.Write(make([]byte, 8<<20))
			_ = packed.Close()
		},
		"endless": func(w http.ResponseWriter) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1<<16))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { send(w) }))
			defer api.Close()
			answer, err := http.Get(api.URL)
			require.NoError(t, err)
			assert.EqualError(t, new(wire).readWhole(answer, 0, 1<<20), "answer longer than 1048576 bytes")
		})
	}
}

func TestEachAttemptIsObservedAndLoggedWithoutQuery(t *testing.T) {
	type observation struct {
		method string
		status int
		took   time.Duration
	}
	var seen []observation
	logs, lines := observer.New(zap.DebugLevel)
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second)
		ok(done)(w, r)
	}
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(t, inMemory{answers(answer(503, ""), ok(running), slow)}, func(o *Options) {
			o.Log = zap.New(logs)
			o.Observe = func(method string, status int, took time.Duration) {
				seen = append(seen, observation{method, status, took})
			}
		})
		require.NoError(t, c.DeleteGroup(t.Context(), testRegion, "alpha-x"))
	})
	assert.Equal(t, []observation{
		{"regionInstanceGroupManagers.delete", 503, 0},
		{"regionInstanceGroupManagers.delete", 200, 0},
		{"regionOperations.wait", 200, time.Second},
	}, seen)
	require.Equal(t, 3, lines.Len())
	assert.Equal(t, map[string]any{
		"method": "regionInstanceGroupManagers.delete",
		"path":   "/compute/v1/projects/p/regions/us-central1/instanceGroupManagers/alpha-x",
		"status": int64(503), "took": time.Duration(0),
	}, lines.All()[0].ContextMap())
}
