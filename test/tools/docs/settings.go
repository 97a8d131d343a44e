package main

import "slurmflex/test/lab"

// setting describes the user, the folder and the cluster of a page's commands.
type setting struct {
	user       string // empty: root
	repository bool   // typed in the repository's root instead of the scratch folder
	bare       bool   // no cluster: the commands do not need one
	leftover   string // name of a group left by slurm-gcp's scripts; empty: none
	lab        lab.Options
}

// nobody is a cluster user without rights.
const nobody = "nobody"

// withDaemon describes a cluster with a daemon that runs as SlurmUser.
var withDaemon = lab.Options{Daemon: true, User: "slurm"}

// settings has an entry for each page with something to run.
var settings = map[string]setting{
	"README.md":               {lab: withDaemon},
	"CONTRIBUTING.md":         {repository: true, bare: true},
	"test/README.md":          {repository: true, bare: true},
	"docs/configure.md":       {lab: withDaemon},
	"docs/dev/design.md":      {repository: true, bare: true},
	"docs/user-guide.md":      {user: nobody, lab: withShare},
	"docs/recipes.md":         {user: nobody, lab: withShare},
	"docs/install.md":         {lab: lab.Options{User: "slurm", NodeSets: []lab.NodeSet{{Name: "small", Machine: "g2-standard-4"}}}},
	"docs/migrate.md":         {leftover: "alpha-a3-job-7-1a2b3c4d", lab: lab.Options{User: "slurm"}},
	"docs/operate.md":         {lab: withDaemon},
	"docs/concepts.md":        {lab: withDaemon},
	"docs/security.md":        {lab: withDaemon},
	"docs/reference.md":       {user: nobody, lab: withDaemon},
	"docs/dev/testing.md":     {repository: true, bare: true},
	"docs/troubleshooting.md": {lab: withDaemon},
}

// withShare adds a partition with nodes shared by jobs.
var withShare = lab.Options{
	Daemon: true, User: "slurm",
	NodeSets: []lab.NodeSet{{Name: "share", Machine: "g2-standard-48", Shared: true, Size: 4, FlexKeys: "use_job_duration: true"}},
}
