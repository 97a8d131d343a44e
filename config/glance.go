package config

import "regexp"

// Glance is what of a configuration leads to its cluster's daemon.
type Glance struct {
	Cluster     string // empty if it cannot be read
	RunDir      string
	HTTPAddress string
}

// Glance is where the configuration says that the daemon is.
func (c *Config) Glance() Glance {
	return Glance{Cluster: c.Cluster, RunDir: c.Options.RunDir, HTTPAddress: c.Options.HTTPAddress}
}

// The keys of a Glance wherever they are in a file, even one that is not YAML.
// A comment is not read.
var (
	glanceCluster = glanceKey("slurm_cluster_name")
	glanceRunDir  = glanceKey("run_dir")
	glanceAddress = glanceKey("http_address")
)

func glanceKey(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:[^#\n]*[\s{,])?` + key + `:[ \t]+["']?([^\s"',}#]+)`)
}

// GlanceAt reads what it can of the file at path, which may be broken or out of
// reach; what it cannot read has its default.
func GlanceAt(path string) Glance {
	text, _ := read(path) // nothing of it: the defaults
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
