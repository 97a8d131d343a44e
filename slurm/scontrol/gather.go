package scontrol

import (
	"context"
	"slices"
	"sync"
)

// gather combines calls that wait at the same time, so that one of Slurm's commands serves all of
// them. While one command runs, further calls wait for the next command. The zero value is ready
// for use.
type gather[Q, A any] struct {
	mu      sync.Mutex
	running bool
	waiting []*caller[Q, A]
}

// caller is one call.
type caller[Q, A any] struct {
	question Q
	answer   A
	err      error
	turn     chan struct{} // closed when the call may run the next command
	done     chan struct{} // closed when the call has its answer
}

// ask returns the answer to a question. run answers up to most questions with one command: with one
// answer and one error for each question, in order. A command for a single question ends with ctx;
// a command for several questions ends without regard to ctx, because other calls wait for it too.
func (g *gather[Q, A]) ask(ctx context.Context, question Q, most int, run func(context.Context, []Q) ([]A, []error)) (A, error) {
	mine := &caller[Q, A]{question: question, turn: make(chan struct{}), done: make(chan struct{})}
	g.join(mine)
	select {
	case <-mine.done:
		return mine.answer, mine.err
	case <-mine.turn:
	case <-ctx.Done():
		if g.leave(mine) {
			return mine.answer, context.Cause(ctx)
		}
		// Another call has taken this one into its command, or has made it the next to run one.
		select {
		case <-mine.done:
			return mine.answer, mine.err
		case <-mine.turn:
		}
	}
	together := g.take(most)
	if len(together) > 1 {
		ctx = context.WithoutCancel(ctx)
	}
	var questions []Q
	for _, c := range together {
		questions = append(questions, c.question)
	}
	answers, errs := run(ctx, questions)
	for i, c := range together {
		c.answer, c.err = answers[i], errs[i]
		close(c.done)
	}
	g.next()
	return mine.answer, mine.err
}

// join adds a call to those that wait, and gives it the turn if no command runs.
func (g *gather[Q, A]) join(c *caller[Q, A]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, c)
	if !g.running {
		g.running = true
		close(c.turn)
	}
}

// leave removes a call that still waits. It reports false if the call has the turn or is part of a
// command.
func (g *gather[Q, A]) leave(c *caller[Q, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, c)
	select {
	case <-c.turn:
		return false
	default:
	}
	if at < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	return true
}

// take removes the calls of the next command from those that wait. The first of them has the turn.
func (g *gather[Q, A]) take(most int) []*caller[Q, A] {
	g.mu.Lock()
	defer g.mu.Unlock()
	together := slices.Clone(g.waiting[:min(most, len(g.waiting))])
	g.waiting = slices.Delete(g.waiting, 0, len(together))
	return together
}

// next gives the turn to the first call that waits.
func (g *gather[Q, A]) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = len(g.waiting) > 0
	if g.running {
		close(g.waiting[0].turn)
	}
}
