package main

import (
	"context"
	"sync"
	"time"

	"slurmflex/flex"
	"slurmflex/flex/web"
)

// serve lets people see over HTTP what the reconciler's rounds do, until ctx
// ends. What it returns waits for that.
func serve(ctx context.Context, r *flex.Reconciler) (wait func()) {
	board := web.NewBoard(r.Config, time.Now)
	r.Watch = board
	server := &web.Server{Board: board, Address: r.Config.Options.HTTPAddress, Log: r.Log, Now: time.Now}
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	return running.Wait
}
