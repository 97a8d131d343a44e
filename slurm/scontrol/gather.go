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
	ctx      context.Context
	question Q
	answer   A
	done     chan struct{} // closed when the call has its answer
}

// ask returns the answer to a question, or the cause if ctx ends before. run answers up to most
// questions with one command: with one answer for each question, in order. A command for a single question ends with ctx;
// a command for several questions ends without regard to ctx, because other calls wait for it too.
func (g *gather[Q, A]) ask(ctx context.Context, question Q, most int, run func(context.Context, []Q) []A) (A, error) {
	mine := &caller[Q, A]{ctx: ctx, question: question, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, mine)
	if !g.running {
		g.running = true
		go g.serve(g.take(most), most, run)
	}
	g.mu.Unlock()
	select {
	case <-mine.done:
	case <-ctx.Done():
		if g.leave(mine) {
			return mine.answer, context.Cause(ctx)
		}
		<-mine.done // it is part of a command
	}
	return mine.answer, nil
}

// serve runs commands until no call waits.
func (g *gather[Q, A]) serve(together []*caller[Q, A], most int, run func(context.Context, []Q) []A) {
	for len(together) > 0 {
		ctx := together[0].ctx
		if len(together) > 1 {
			ctx = context.WithoutCancel(ctx)
		}
		var questions []Q
		for _, c := range together {
			questions = append(questions, c.question)
		}
		answers := run(ctx, questions)
		g.mu.Lock()
		next := g.take(most)
		g.running = len(next) > 0
		g.mu.Unlock()
		for i, c := range together {
			c.answer = answers[i]
			close(c.done)
		}
		together = next
	}
}

// leave removes a call that still waits. It reports false if the call is part of a command.
func (g *gather[Q, A]) leave(c *caller[Q, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, c)
	if at < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	return true
}

// take removes the calls of the next command from those that wait. The caller holds the lock.
func (g *gather[Q, A]) take(most int) []*caller[Q, A] {
	together := slices.Clone(g.waiting[:min(most, len(g.waiting))])
	g.waiting = slices.Delete(g.waiting, 0, len(together))
	return together
}
