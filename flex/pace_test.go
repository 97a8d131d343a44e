package flex

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap/zapcore"
)

func TestPassesBackOffWhileSlurmCannotBeRead(t *testing.T) {
	for interval, want := range map[time.Duration][]time.Duration{
		30 * time.Second: {30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		time.Second:      {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second},
		time.Hour:        {time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour},
	} {
		p := pace{interval: interval, jitter: func(d time.Duration) time.Duration { return d }}
		var waits []time.Duration
		for range want {
			waits = append(waits, p.next(errors.New("no answer"), false))
		}
		assert.Equal(t, want, waits)
		assert.Equal(t, interval, p.next(nil, false), "as ever once it can be read")
		assert.Equal(t, interval, p.next(errors.New("no answer"), false), "the next failure is the first")
	}
}

func TestThePaceFollowsWhatIsExpected(t *testing.T) {
	p := pace{interval: 30 * time.Second, jitter: func(d time.Duration) time.Duration { return d }}
	var waits []time.Duration
	for range 7 {
		waits = append(waits, p.next(nil, true))
	}
	assert.Equal(t, []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second,
	}, waits)
	p.hurry()
	assert.Equal(t, soonest, p.next(nil, true), "a wake-up starts over")
	assert.Equal(t, latest, p.next(ErrQueued, false), "another process makes this pass")
	assert.Equal(t, 2*soonest, p.next(nil, true), "and that is no reason to start over")
	assert.Equal(t, 30*time.Second, p.next(ErrStandby, false))
	assert.Equal(t, soonest, p.next(nil, true))
	p.interval = 5 * time.Second
	for range 5 {
		p.next(nil, true)
	}
	assert.Equal(t, 5*time.Second, p.next(nil, true), "never more rarely than the interval")
}

func TestAnOutageIsTwoLinesOfTheLogAndAWakeUpEndsTheWait(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		wakeUps := make(chan WakeUp)
		w.slurm.refuse(errors.New("Unable to contact slurm controller"))
		stop := w.daemon(wakeUps)
		time.Sleep(2 * time.Hour)
		assert.InDelta(t, 30, len(w.slurm.passes()), 4, "30 s, 1, 2, 4 and then every 5 minutes")
		assert.Len(t, w.log.FilterLevelExact(zapcore.ErrorLevel).All(), 1)

		w.slurm.refuse(nil)
		before := len(w.slurm.passes())
		wakeUps <- WakeUp{Verb: "resume"}
		time.Sleep(time.Second)
		assert.Len(t, w.slurm.passes(), before+1)
		stop()
		var lines []string
		for _, e := range w.log.All() {
			lines = append(lines, e.Message)
		}
		assert.Equal(t, []string{"cannot reconcile", "wake-up", "reconciling again"}, lines)
	})
}

func TestAnotherReasonIsAnotherLineOfTheLog(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stop := w.daemon(nil)
		for _, why := range []string{"no answer within 30s", "no answer within 30s", "Invalid user id"} {
			w.slurm.refuse(errors.New(why))
			time.Sleep(time.Hour)
		}
		stop()
		var lines []any
		for _, e := range w.log.FilterMessage("cannot reconcile").All() {
			lines = append(lines, e.ContextMap()["error"])
		}
		assert.Equal(t, []any{"read nodes: no answer within 30s", "read nodes: Invalid user id"}, lines)
	})
}
