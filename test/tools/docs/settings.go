package main

import "slurmflex/test/lab"

// setting is who types a page's commands, where, and what cluster there is.
type setting struct {
	user       string // empty: root
	repository bool   // typed in the repository's root instead of a scratch folder
	bare       bool   // no cluster: what is typed has to do with none
	leftover   string // name of a group that slurm-gcp's scripts have left; empty: none
	lab        lab.Options
}

// nobody is the user of a cluster who has no rights.
const nobody = "nobody"

// withDaemon is a cluster whose daemon runs as SlurmUser.
var withDaemon = lab.Options{Daemon: true, User: "slurm"}

// settings are the pages that have something to run.
var settings = map[string]setting{
	"README.md":               {lab: withDaemon},
	"CONTRIBUTING.md":         {repository: true, bare: true},
	"test/README.md":          {repository: true, bare: true},
	"docs/cluster-toolkit.md": {lab: withDaemon},
	"docs/coming-from.md":     {user: nobody, lab: withDaemon},
	"docs/configure.md":       {lab: withDaemon},
	"docs/design.md":          {repository: true, bare: true},
	"docs/for-users.md":       {user: nobody, lab: withShare},
	"docs/front-ends.md":      {user: nobody, lab: withDaemon},
	"docs/install.md":         {lab: lab.Options{User: "slurm"}},
	"docs/metrics.md":         {lab: withDaemon},
	"docs/migrate.md":         {leftover: "alpha-a3-job-7-1a2b3c4d", lab: lab.Options{User: "slurm"}},
	"docs/operate.md":         {lab: withDaemon},
	"docs/pending.md":         {lab: withDaemon},
	"docs/performance.md":     {repository: true, bare: true},
	"docs/scale.md":           {lab: withDaemon},
	"docs/security.md":        {lab: withDaemon},
	"docs/status.md":          {user: nobody, lab: withDaemon},
	"docs/testing.md":         {repository: true, bare: true},
}

// withShare has a partition besides whose nodes jobs share.
var withShare = lab.Options{
	Daemon: true, User: "slurm",
	NodeSets: []lab.NodeSet{{Name: "share", Machine: "g2-standard-48", Shared: true, Size: 4, FlexKeys: "use_job_duration: true"}},
}
