// Package gke answers the part of the Compute API that slurmflex calls (docs/dev/provider.md), and
// turns it into Kubernetes objects of a GKE cluster: a machine is a pod that runs slurmd on a
// flex-start node. A Gateway keeps no state of its own. Groups and their resize requests are
// ConfigMaps, so that the next gateway continues where a killed one was.
package gke
