package scontrol

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// commands records the questions that were answered together.
type commands struct {
	mu       sync.Mutex
	together [][]int
}

// double is a number's double, or an error.
type double struct {
	is  int
	err error
}

// slowly answers each question with its double after a second. It rejects negative numbers.
func (c *commands) slowly(ctx context.Context, questions []int) (doubles []double) {
	c.mu.Lock()
	c.together = append(c.together, questions)
	c.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	for _, q := range questions {
		err := ctx.Err()
		if q < 0 {
			err = errors.New(strconv.Itoa(q))
		}
		doubles = append(doubles, double{2 * q, err})
	}
	return doubles
}

func TestCallsThatWaitShareACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gather[int, double]
		var c commands
		var calls sync.WaitGroup
		for i := range 8 {
			time.Sleep(time.Millisecond)
			calls.Go(func() {
				got, err := g.ask(t.Context(), i-1, 5, c.slowly)
				require.NoError(t, err)
				require.Equal(t, 2*(i-1), got.is)
				require.Equal(t, i == 0, got.err != nil)
			})
		}
		calls.Wait()
		require.Equal(t, [][]int{{-1}, {0, 1, 2, 3, 4}, {5, 6}}, c.together)
		require.False(t, g.running)
	})
}

func TestCancelledCallLeavesTheOthersAlone(t *testing.T) {
	for at, want := range map[time.Duration]struct {
		first, second error
		together      [][]int
	}{
		500 * time.Millisecond:  {context.Canceled, context.Canceled, [][]int{{1}, {3}}},
		1500 * time.Millisecond: {nil, nil, [][]int{{1}, {2, 3}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var g gather[int, double]
			var c commands
			var calls sync.WaitGroup
			ask := func(question int, after time.Duration, want error) {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				calls.Go(func() {
					defer cancel()
					got, err := g.ask(ctx, question, 2, c.slowly)
					require.Equal(t, want == nil, err == nil && got.err == nil)
				})
				synctest.Wait()
			}
			ask(1, at, want.first)
			ask(2, at-time.Millisecond, want.second)
			ask(3, time.Hour, nil)
			calls.Wait()
			require.Equal(t, want.together, c.together)
			require.False(t, g.running)
		})
	}
}

func TestReservationsAreChangedTogether(t *testing.T) {
	c := newClient(t, dummy{Refuse: "nope"})
	changes := [][]string{{"update", "reservationname=a", "starttime=uts1"}, {"update", "reservationname=b", "starttime=uts2"}}
	errs := c.update(t.Context(), changes)
	require.Equal(t, []error{nil, nil}, errs)
	made := calls(t, c)
	require.Len(t, made, 1)
	require.Equal(t, []string{"scontrol"}, made[0].Args)
	require.Equal(t, "update reservationname=a starttime=uts1\nupdate reservationname=b starttime=uts2\n", made[0].Input)

	errs = c.update(t.Context(), append(changes, []string{"update", "reservationname=nope"}))
	require.NoError(t, errors.Join(errs[0], errs[1]))
	require.EqualError(t, errs[2], "scontrol update reservationname=nope: Invalid node name specified")
	require.Len(t, calls(t, c), 1+1+3, "each change alone")
}

func TestUnansweredChangesAreNotRepeated(t *testing.T) {
	c := newClient(t, dummy{Stderr: "slurm_update error: Unable to contact slurm controller (connect failure)\n", Exit: 1})
	var observed []string
	c.Observe = func(command string, _ time.Duration, _ error) { observed = append(observed, command) }
	errs := c.update(t.Context(), [][]string{{"update", "reservationname=a"}, {"update", "reservationname=b"}})
	for _, err := range errs {
		require.ErrorIs(t, err, ErrNoController)
		require.ErrorContains(t, err, "scontrol update reservationname=a, and 1 more: ")
	}
	require.Equal(t, []string{"scontrol update"}, observed)
}

func TestRecordsAreReadTogether(t *testing.T) {
	c := newClient(t, dummy{Stdout: recordOf("1", "(null)") + "2|" + markOfCall + "|\n" + recordOf("3", "(null)")})
	answers := c.readRecords(t.Context(), [][]uint32{{3}, {2, 1}})
	require.NoError(t, answers[0].err)
	require.Len(t, calls(t, c), 1)
	require.Len(t, answers[1].read, 2)

	records, err := c.JobRecords(t.Context(), []uint32{3, 1})
	require.NoError(t, err, "the row of job 2 is another call's")
	require.Len(t, records, 2)
	records, err = c.JobRecords(t.Context(), []uint32{2, 1})
	require.ErrorAs(t, err, new(slurm.Unread))
	require.Len(t, records, 1, "the other record is still read")
}
