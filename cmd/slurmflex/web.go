package main

import (
	"context"
	"sync"
	"time"

	"slurmflex/flex"
	"slurmflex/flex/web"
)

// serve shows over HTTP what the reconciler does, until ctx ends. What it returns
// waits for that.
func (a *app) serve(ctx context.Context, r *flex.Reconciler) (board *web.Board, wait func()) {
	board = web.NewBoard(r.Config, time.Now)
	board.Fill = a.filler(ctx, r.Config, r.Log)
	r.Watch = flex.Watchers{board, r.Watch}
	server := &web.Server{
		Board: board, Address: r.Config.Options.HTTPAddress, Log: r.Log, Now: time.Now, Metrics: a.measures.handler(r.Log),
	}
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	return board, running.Wait
}
