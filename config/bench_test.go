package config_test

import (
	"testing"

	"slurmflex/config"
	"slurmflex/test/bench/site"
)

func BenchmarkParse(b *testing.B) {
	text := []byte(site.Text(5_000, ""))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Parse("bench.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}
