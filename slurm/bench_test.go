package slurm_test

import (
	"testing"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakeslurm"
)

// cluster is a cluster of 5,000 nodes and 1,020 jobs.
func cluster(b *testing.B, state func(*config.Config, time.Time) plan.Snapshot) plan.Snapshot {
	b.Helper()
	cfg, err := site.Config(5_000)
	if err != nil {
		b.Fatal(err)
	}
	return state(cfg, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
}

func BenchmarkParseSqueue(b *testing.B) {
	text := []byte(fakeslurm.PrintJobs(cluster(b, site.Steady).Jobs))
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := slurm.ParseSqueue(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseReservations(b *testing.B) {
	text := []byte(fakeslurm.PrintReservations(cluster(b, site.Steady).Reservations))
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := slurm.ParseReservations(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResumedJobs(b *testing.B) {
	text := site.ResumeFile(cluster(b, site.Rising).Jobs)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := slurm.ResumedJobs(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseState(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		slurm.ParseState(site.PoweringUp)
	}
}
