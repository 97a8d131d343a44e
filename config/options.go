package config

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Values of waiting: the state that Slurm shows for jobs that wait for machines.
const (
	Pending     = "pending"     // the daemon reserves nodes until their machines are up
	Configuring = "configuring" // Slurm allocates powered-down nodes, which then boot
)

// Options is the slurmflex section, which configures the program itself. field explains the tags.
type Options struct {
	Interval          time.Duration `key:"interval" range:"1s to 1h" default:"30s" doc:"Longest time between passes, while Slurm can be read."`
	MaxActiveRequests int           `key:"max_active_requests" unit:"requests" range:"1 to 100000" default:"100" doc:"Most live requests in a region."`
	MaxActivePerUser  int           `key:"max_active_requests_per_user" unit:"requests" range:"0 to 100000" doc:"Most live requests for one user's jobs in a region; 0: no limit."`
	YieldAfter        time.Duration `key:"yield_after" range:"0s to 8760h" default:"1h" doc:"When max_active_requests is reached, a request of this age may be cancelled for a job of higher priority; 0: never. Requests beyond a job's first partition always may."`
	Waiting           string        `key:"waiting" words:"pending configuring" doc:"Whether waiting jobs are PENDING, or CONFIGURING on powered-down nodes."`
	OnDemandAfter     time.Duration `key:"on_demand_after" range:"0s to 8760h" default:"30m" doc:"Time from when nodes were first reserved for a pending job, or from when it first lacked free nodes, until on_demand machines are also requested for it."`
	MaxDeletions      int           `key:"max_deletions_per_pass" was:"max_deletions_per_round" unit:"machines" range:"0 to 100000" default:"10" doc:"Machines that one pass may delete without a power-down from Slurm."`
	APICalls          int           `key:"api_calls_per_second" unit:"calls/s" range:"1 to 1000" default:"20" reload:"restart" doc:"Most calls to Compute per second, after a burst of ten seconds' worth."`
	Limits            []Limit       `key:"limits" doc:"Limits on GPU hours and money, by names of your choice."`
	HTTPAddress       string        `key:"http_address" form:"address" default:"127.0.0.1:8918" reload:"restart" doc:"Address of page, metrics and health; without a host, all addresses."`
	ComputeEndpoint   string        `key:"compute_endpoint" form:"endpoint" reload:"restart" doc:"Replaces Google's address, for tests; gets tokens of google_app_cred_path only."`
	Regions           []Region      `key:"regions" reload:"restart" doc:"Regions by their names that another program than Compute serves, such as gke-us-central1."` // sorted by name
	Delegate          Delegate      `key:"delegate" doc:"Programs for nodesets without dws_flex and capacity; without a program slurmflex leaves their nodes alone."`
	RunDir            string        `key:"run_dir" form:"path" default:"/run/slurmflex" reload:"restart" doc:"Directory of socket and lock; SlurmUser's, mode 0700."`
	StateDir          string        `key:"state_dir" form:"path" default:"/var/lib/slurmflex" reload:"restart" doc:"Directory of the history, which only people read; SlurmUser's."`
	LogFile           string        `key:"log_file" form:"path" default:"/var/log/slurm/slurmflex.log" doc:"Log of hooks and their passes: a JSON object per line."`
	LogLevel          string        `key:"log_level" words:"info debug warn error" reload:"restart" doc:"Lowest severity logged."`
}

// Delegate names the programs that handle nodes that slurmflex does not provision. Each is an
// absolute path; empty means no program.
type Delegate struct {
	ResumeProgram  string `key:"resume_program" form:"path" doc:"Called by resume with the nodes' hostlist, slurmctld's environment and SLURMFLEX_DELEGATED=1."`
	SuspendProgram string `key:"suspend_program" form:"path" doc:"Called by suspend and resume-fail, in the same way."`
}

// Region is a region that another program than Google's Compute serves, such as a gateway to GKE.
type Region struct {
	Name      string `key:"-"`
	Endpoint  string `key:"endpoint" form:"endpoint" required:"true" doc:"The program's address."`
	TokenFile string `key:"token_file" form:"path" doc:"File with a line that the program receives as a bearer token, read for each call; mode 0600."`
}

// readRegions reads the regions with a Compute API of their own.
func readRegions(sections []*section) []Region {
	var regions []Region
	for _, s := range sections {
		region := Region{Name: s.name}
		s.read(&region, all)
		switch {
		case !computeName.MatchString(s.name):
			s.r.problem(s.line, s.path, "%s is not the name of a region; must be a letter followed by letters, digits and inner dashes, all lower case", quote(s.name))
		case region.TokenFile != "" && inClear(region.Endpoint):
			s.problem("endpoint", "the token in %s would be sent to %s unencrypted; use https://HOST or an address of this host", region.TokenFile, region.Endpoint)
		}
		s.finish()
		regions = append(regions, region)
	}
	slices.SortFunc(regions, func(a, b Region) int { return cmp.Compare(a.Name, b.Name) })
	return regions
}

// HasEndpoint reports whether the region has a Compute API of its own.
func (o Options) HasEndpoint(region string) bool {
	return slices.ContainsFunc(o.Regions, func(r Region) bool { return r.Name == region })
}

// readOptions reads the slurmflex section. credentials is the file of credentials, if there is one.
func readOptions(s *section, credentials string) Options {
	o := defaults[Options]()
	s.read(&o, all)
	if credentials != "" && inClear(o.ComputeEndpoint) {
		s.problem("compute_endpoint", "the tokens of credentials file %s would be sent to %s unencrypted; use https://HOST or an address of this host",
			credentials, o.ComputeEndpoint)
	}
	s.finish()
	return o
}

// inClear reports whether data sent to an endpoint leaves this host unencrypted.
func inClear(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}
