package scontrol_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"slurmflex/slurm/scontrol"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// BenchmarkNodes measures how long it takes to start a program, to read its output through a pipe,
// and to parse that. A dummy prints 5,000 nodes.
func BenchmarkNodes(b *testing.B) {
	nodes := site.Steady(must.Get(site.Config(5_000)), time.Now()).Nodes
	dir := b.TempDir()
	records := filepath.Join(dir, "nodes")
	must.Do(os.WriteFile(records, []byte(fakeslurm.PrintNodes(nodes)), 0o600))
	must.Do(os.WriteFile(filepath.Join(dir, "scontrol"), fmt.Appendf(nil, "#!/bin/sh\nexec cat %s\n", records), 0o700))
	client := &scontrol.Client{BinDir: dir}
	b.ReportAllocs()
	for b.Loop() {
		nodes, err := client.Nodes(b.Context())
		if err != nil || len(nodes) != 5_000 {
			b.Fatalf("%d nodes, %v", len(nodes), err)
		}
	}
}
