package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"slurmflex/flex/history"
	"slurmflex/test/bench/site"
	"slurmflex/test/must"
)

// The history of a busy year: each job has one wait and one lease.
const (
	ledgerLines = 100_000
	ledgerRuns  = 5
)

// ledger measures commands that read a history of 100,000 lines, on a host without a daemon.
func (b *bench) ledger(ctx context.Context) (values []float64) {
	dir := must.Get(os.MkdirTemp(b.dir, "ledger-"))
	config := filepath.Join(dir, "config.yaml")
	must.Do(os.WriteFile(config, []byte(site.Text(hookNodes, fmt.Sprintf("  run_dir: %s\n  state_dir: %s\n  http_address: 127.0.0.1:1\n", dir, dir))), 0o600))
	writeLedger(dir, time.Now())
	for _, args := range [][]string{
		{"estimate", "--partition=train", "--nodes=4"},
		{"cost", "--by=account"},
		{"cost", "--by=job"},
	} {
		cmd := exec.CommandContext(ctx, filepath.Join(b.build, "slurmflex"), append(args, "--config="+config)...)
		took, memory := b.laps(ctx, ledgerRuns, cmd)
		values = append(values, took, memory)
	}
	return values
}

// writeLedger writes a year of waits and leases, ordered by their end.
func writeLedger(dir string, now time.Time) {
	random := rand.New(rand.NewPCG(1, 2))
	const batch = 10_000
	var entries []history.Entry
	for i := range ledgerLines / 2 {
		to := history.At(now.Add(-365*24*time.Hour)) + history.Time(i*2*365*24*3600/ledgerLines)
		waited, ran := history.Time(60+random.IntN(7200)), history.Time(600+random.IntN(14400))
		who := history.Who{Job: uint32(i + 1), User: fmt.Sprintf("user%d", random.IntN(200)), Account: fmt.Sprintf("lab%d", random.IntN(40)), Partition: "train"}
		wait := history.Entry{
			Version: history.Version, Kind: history.Wait, ID: fmt.Sprintf("us-central1/alpha-a3-job-%d/a1@%d", i, to-waited), NodeSet: site.NodeSet,
			Machine: site.Machine, Region: site.Region, Zone: site.Zone, Count: 1 + random.IntN(8), Seconds: int64(ran) + 600, From: to - waited, To: to,
			End: history.Granted, Attempts: 1, Who: who,
		}
		wait.GPUs = 8 * wait.Count
		lease := wait
		lease.Kind, lease.ID, lease.Node = history.Lease, fmt.Sprintf("%s/alpha-a3-%d@%d", site.Zone, i%hookNodes, to-ran), site.Node(i%hookNodes)
		lease.Count, lease.GPUs, lease.End, lease.Attempts, lease.From, lease.FlexStart = 1, 8, "", 0, to-ran, true
		lease.Booting = 120
		lease.Uses = []history.Use{{Who: who, From: lease.From + 120, To: lease.To - 60}}
		if entries = append(entries, wait, lease); len(entries) >= batch {
			must.Do(history.Append(dir, site.Cluster, false, entries))
			entries = entries[:0]
		}
	}
	must.Do(history.Append(dir, site.Cluster, false, entries))
}
