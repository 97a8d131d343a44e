package config

import (
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// Waiting is the state in which Slurm shows jobs that wait for machines.
type Waiting string

// Pending is the default.
const (
	Pending     Waiting = "pending"     // the daemon keeps powered-down nodes from them until machines have come
	Configuring Waiting = "configuring" // Slurm gives them powered-down nodes, and they wait for these to boot
)

// Options is the slurmflex section: the program itself. field explains the tags.
type Options struct {
	// Of reconcile passes.
	Interval time.Duration `key:"interval" unit:"duration" range:"1s to 1h" default:"30s"`
	// Live resize requests per region.
	MaxActiveRequests int `key:"max_active_requests" unit:"requests" range:"1 to 100000" default:"100"`
	// Of these for one user's jobs; 0: no limit.
	MaxActivePerUser int `key:"max_active_requests_per_user" unit:"requests" range:"0 to 100000"`
	// The least time that a request keeps its place; 0: for ever.
	YieldAfter time.Duration `key:"yield_after" unit:"duration" range:"0s to 8760h" default:"1h"`
	// How jobs wait for machines.
	Waiting Waiting `key:"waiting" words:"pending configuring"`
	// From the daemon's end until Slurm gives powered-down nodes to jobs itself, in whole minutes.
	PendingGrace time.Duration `key:"pending_grace" unit:"duration" range:"2m to 1h" default:"6m"`
	// Of a job that waits pending: partitions of its list in which machines are requested at once.
	MaxPlaces int `key:"max_places" unit:"partitions" range:"1 to 10" default:"3"`
	// From a pending job's first request until on_demand machines are requested for it, too.
	DearerAfter time.Duration `key:"dearer_after" unit:"duration" range:"0s to 8760h" default:"30m"`
	// Instances per pass that Slurm did not ask to delete.
	MaxDeletions int `key:"max_deletions_per_round" unit:"machines" range:"0 to 100000" default:"10"`
	// Calls to Compute per second, after a burst of ten seconds' worth.
	APICalls int `key:"api_calls_per_second" unit:"calls/s" range:"1 to 1000" default:"20" reload:"restart"`
	// estimate asks Compute's advice.capacity too.
	CapacityAdvice bool `key:"capacity_advice"`
	// The metrics have Slurm's accounts, for anyone who may read them.
	MetricsByAccount bool `key:"metrics_by_account"`
	// host:port of metrics, health and status.
	HTTPAddress string `key:"http_address" form:"address" default:"127.0.0.1:8918" reload:"restart"`
	// http(s)://host[:port] in place of Google's, which gets tokens of CredentialsFile only; empty: Google's.
	ComputeEndpoint string   `key:"compute_endpoint" form:"endpoint" reload:"restart"`
	Delegate        Delegate `key:"delegate"`
	// Of the socket and the lock.
	RunDir string `key:"run_dir" form:"path" default:"/run/slurmflex" reload:"restart"`
	// Of the history, which is only for people to read.
	StateDir string `key:"state_dir" form:"path" default:"/var/lib/slurmflex" reload:"restart"`
	// By default slurmflex.log in slurm_log_dir.
	LogFile string `key:"log_file" form:"path"`
	// auto: JSON in the file, readable lines on stderr.
	LogFormat string `key:"log_format" words:"auto json console" reload:"restart"`
	LogLevel  string `key:"log_level" words:"info debug warn error" reload:"restart"`
	// By default google_app_cred_path; empty: Application Default Credentials.
	CredentialsFile string `key:"credentials_file" form:"path" reload:"restart"`
}

// Delegate names the programs that are called for nodes that are not ours,
// absolute or empty: nobody is called.
type Delegate struct {
	ResumeProgram  string `key:"resume_program" form:"path"`
	SuspendProgram string `key:"suspend_program" form:"path"`
}

// readOptions reads the slurmflex section; the files' names that are not given
// are taken from unset.
func readOptions(s *section, unset Options) Options {
	o := defaults[Options]()
	o.LogFile, o.CredentialsFile = unset.LogFile, unset.CredentialsFile
	s.read(&o, all)
	if o.CredentialsFile != "" && inClear(o.ComputeEndpoint) {
		s.problem("compute_endpoint", "the tokens of credentials file %s would go to %s unencrypted; give https://HOST or an address of this host",
			o.CredentialsFile, o.ComputeEndpoint)
	}
	s.finish()
	return o
}

// inClear reports whether what is sent to an endpoint leaves this host unencrypted.
func inClear(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}

// address reads the host and port to listen on; without a host, all.
func (s *section) address(key, unset string) string {
	address := s.text(key, unset)
	u, err := url.Parse("//" + address)
	if err == nil && u.Host == address {
		_, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	if err != nil || u.Host != address {
		s.problem(key, "%s is not host:port; give one such as %s", quote(address), unset)
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
		s.problem(key, "%s is not http://HOST:PORT or https://HOST; give one of them, without a path", quote(endpoint))
	}
	return endpoint
}
