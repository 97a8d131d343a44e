// Package site generates clusters of any size for benchmarks, in the states that a pass may find.
package site

import "slurmflex/config"

// The names that all clusters share.
const (
	Cluster  = "alpha"
	Project  = "demo"
	Region   = "us-central1"
	Zone     = "us-central1-a"
	NodeSet  = "a3" // also the name of its template
	Machine  = "a3-highgpu-8g"
	template = "projects/demo/regions/us-central1/instanceTemplates/a3"
)

// ActiveRequests is the project's quota ACTIVE_RESIZE_REQUESTS in the region.
const ActiveRequests = 5_000

// Text returns the configuration of a cluster with that many nodes; more holds additional lines of
// its slurmflex section.
func Text(nodes int, more string) string {
	return TextOf(Places(1), nodes, more)
}

// Config parses the configuration that Text returns.
func Config(nodes int) (*config.Config, error) {
	return config.Parse("bench.yaml", []byte(Text(nodes, "")))
}

// Nodes returns the names of n nodes, starting at index first.
func Nodes(first, n int) []string { return Places(1)[0].Nodes(first, n) }
