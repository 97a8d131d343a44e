package config

import "regexp"

// Glance holds the part of a configuration that clients need to find the cluster's daemon.
type Glance struct {
	Cluster     string // empty if unreadable
	RunDir      string
	HTTPAddress string
}

// These patterns match the keys of a Glance anywhere in a file, even in one that is not valid YAML.
// They skip comments.
var (
	glanceCluster = glanceKey("slurm_cluster_name")
	glanceRunDir  = glanceKey("run_dir")
	glanceAddress = glanceKey("http_address")
)

func glanceKey(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:[^#\n]*[\s{,])?` + key + `:[ \t]+["']?([^\s"',}#]+)`)
}

// GlanceAt reads what it can from the file at path, which may be broken or inaccessible. Keys that
// it cannot read have their defaults.
func GlanceAt(path string) Glance {
	text, _ := read(path) // nothing if unreadable, which results in the defaults
	unset := defaults[Options]()
	find := func(key *regexp.Regexp, otherwise string) string {
		if m := key.FindSubmatch(text); m != nil {
			return string(m[1])
		}
		return otherwise
	}
	return Glance{
		Cluster:     find(glanceCluster, ""),
		RunDir:      find(glanceRunDir, unset.RunDir),
		HTTPAddress: find(glanceAddress, unset.HTTPAddress),
	}
}
