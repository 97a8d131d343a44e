package slurm_test

import (
	"testing"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// cluster returns a snapshot of a cluster with 5,000 nodes and 1,020 jobs.
func cluster(b *testing.B, state func(*config.Config, time.Time) scene.Snapshot) scene.Snapshot {
	b.Helper()
	return state(must.Get(site.Config(5_000)), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
}

// reads benchmarks parse on text.
func reads[T any](b *testing.B, text []byte, parse func([]byte) (T, error)) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseSqueue(b *testing.B) {
	reads(b, []byte(fakeslurm.PrintJobs(cluster(b, site.Steady).Jobs, "m4rk")), func(out []byte) ([]slurm.Job, error) {
		return slurm.ParseSqueue(out, "m4rk")
	})
}

func BenchmarkParseReservations(b *testing.B) {
	reads(b, []byte(fakeslurm.PrintReservations(cluster(b, site.Steady).Reservations)), slurm.ParseReservations)
}

func BenchmarkResumedJobs(b *testing.B) {
	reads(b, site.ResumeFile(cluster(b, site.Rising).Jobs), slurm.ResumedJobs)
}

func BenchmarkParseState(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		slurm.ParseState(site.PoweringUp)
	}
}
