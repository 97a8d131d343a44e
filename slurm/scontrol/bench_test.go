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
)

// A dummy prints 5,000 nodes: what is measured is the start of a program, its
// output through a pipe, and reading that.
func BenchmarkNodes(b *testing.B) {
	cfg, err := site.Config(5_000)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	records := filepath.Join(dir, "nodes")
	if err := os.WriteFile(records, []byte(fakeslurm.PrintNodes(site.Steady(cfg, time.Now()).Nodes)), 0o600); err != nil {
		b.Fatal(err)
	}
	dummy := fmt.Sprintf("#!/bin/sh\nexec cat %s\n", records)
	if err := os.WriteFile(filepath.Join(dir, "scontrol"), []byte(dummy), 0o700); err != nil {
		b.Fatal(err)
	}
	client := &scontrol.Client{BinDir: dir}
	b.ReportAllocs()
	for b.Loop() {
		nodes, err := client.Nodes(b.Context())
		if err != nil || len(nodes) != 5_000 {
			b.Fatalf("%d nodes, %v", len(nodes), err)
		}
	}
}
