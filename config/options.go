package config

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Waiting is the state that Slurm shows for jobs that wait for machines.
type Waiting string

// Pending is the default.
const (
	Pending     Waiting = "pending"     // the daemon reserves nodes until their machines are up
	Configuring Waiting = "configuring" // Slurm allocates powered-down nodes, which then boot
)

// Options is the slurmflex section, which configures the program itself. field explains the tags.
type Options struct {
	// Interval is the time between reconcile passes.
	Interval time.Duration `key:"interval" unit:"duration" range:"1s to 1h" default:"30s"`
	// MaxActiveRequests limits the live resize requests per region.
	MaxActiveRequests int `key:"max_active_requests" unit:"requests" range:"1 to 100000" default:"100"`
	// MaxActivePerUser limits the live requests for one user's jobs; 0 means no limit.
	MaxActivePerUser int `key:"max_active_requests_per_user" unit:"requests" range:"0 to 100000"`
	// YieldAfter is the shortest time that a request keeps its queue position; 0 means unlimited.
	YieldAfter time.Duration `key:"yield_after" unit:"duration" range:"0s to 8760h" default:"1h"`
	// Waiting determines how jobs wait for machines.
	Waiting Waiting `key:"waiting" words:"pending configuring"`
	// PendingGrace is the time from the daemon's end until Slurm itself allocates powered-down
	// nodes to jobs, in whole minutes.
	PendingGrace time.Duration `key:"pending_grace" unit:"duration" range:"2m to 1h" default:"6m"`
	// MaxPlaces limits the partitions in a pending job's list where machines may be requested at
	// the same time.
	MaxPlaces int `key:"max_places" unit:"partitions" range:"1 to 10" default:"3"`
	// DearerAfter is the time from when nodes were first reserved for a pending job, or from when it
	// first lacked free nodes, until on_demand machines are also requested for it.
	DearerAfter time.Duration `key:"dearer_after" unit:"duration" range:"0s to 8760h" default:"30m"`
	// MaxDeletions limits the instances per pass that slurmflex deletes without a power-down from
	// Slurm.
	MaxDeletions int `key:"max_deletions_per_pass" was:"max_deletions_per_round" unit:"machines" range:"0 to 100000" default:"10"`
	// APICalls limits the calls to Compute per second, after a burst of ten seconds' worth.
	APICalls int `key:"api_calls_per_second" unit:"calls/s" range:"1 to 1000" default:"20" reload:"restart"`
	// MetricsByAccount adds Slurm's accounts to the metrics, for anyone who may read them.
	MetricsByAccount bool `key:"metrics_by_account"`
	// HTTPAddress is the host:port of metrics, health and status.
	HTTPAddress string `key:"http_address" form:"address" default:"127.0.0.1:8918" reload:"restart"`
	// ComputeEndpoint is http(s)://host[:port]; empty means Google's endpoint. Any other endpoint
	// receives tokens of CredentialsFile only.
	ComputeEndpoint string `key:"compute_endpoint" form:"endpoint" reload:"restart"`
	// Regions are the regions that have a Compute API of their own, sorted by name.
	Regions  []Region `key:"regions" reload:"restart"`
	Delegate Delegate `key:"delegate"`
	// RunDir is the folder of the socket and the lock.
	RunDir string `key:"run_dir" form:"path" default:"/run/slurmflex" reload:"restart"`
	// StateDir is the folder of the history, which only people read.
	StateDir string `key:"state_dir" form:"path" default:"/var/lib/slurmflex" reload:"restart"`
	// LogFile is slurmflex.log in slurm_log_dir by default.
	LogFile string `key:"log_file" form:"path"`
	// LogFormat auto means JSON in the file and readable lines on stderr.
	LogFormat string `key:"log_format" words:"auto json console" reload:"restart"`
	LogLevel  string `key:"log_level" words:"info debug warn error" reload:"restart"`
	// CredentialsFile is google_app_cred_path by default; empty means Application Default
	// Credentials.
	CredentialsFile string `key:"credentials_file" form:"path" reload:"restart"`
}

// Delegate names the programs that handle nodes that slurmflex does not provision. Each is an
// absolute path; empty means no program.
type Delegate struct {
	ResumeProgram  string `key:"resume_program" form:"path"`
	SuspendProgram string `key:"suspend_program" form:"path"`
}

// Region is a region that another program than Google's Compute serves, such as a gateway to GKE.
type Region struct {
	Name     string `key:"-"`
	Endpoint string `key:"endpoint" form:"endpoint"`
	// TokenFile has a line that the endpoint receives as a bearer token; empty means no token.
	TokenFile string `key:"token_file" form:"path"`
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
		case region.Endpoint == "":
			s.problem("endpoint", "missing; set it to the address of the program that serves this region, such as http://127.0.0.1:8930")
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

// readOptions reads the slurmflex section. unset has the file names to use for missing keys.
func readOptions(s *section, unset Options) Options {
	o := defaults[Options]()
	o.LogFile, o.CredentialsFile = unset.LogFile, unset.CredentialsFile
	s.read(&o, all)
	if o.CredentialsFile != "" && inClear(o.ComputeEndpoint) {
		s.problem("compute_endpoint", "the tokens of credentials file %s would be sent to %s unencrypted; use https://HOST or an address of this host",
			o.CredentialsFile, o.ComputeEndpoint)
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

// address reads the host and port to listen on. Without a host, slurmflex listens on all addresses.
func (s *section) address(key, unset string) string {
	address := s.text(key, unset)
	u, err := url.Parse("//" + address)
	if err == nil && u.Host == address {
		_, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	if err != nil || u.Host != address {
		s.problem(key, "%s is not host:port; use an address such as %s", quote(address), unset)
	}
	return address
}

// endpoint reads the address of a Compute API.
func (s *section) endpoint(key string) string {
	endpoint := s.text(key, "")
	if endpoint == "" {
		return ""
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || endpoint != u.Scheme+"://"+u.Host {
		s.problem(key, "%s is not http://HOST:PORT or https://HOST; use that form, without a path", quote(endpoint))
	}
	return endpoint
}
