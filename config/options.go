package config

import (
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// The defaults by which hooks and people find the daemon.
const (
	defaultRunDir  = "/run/slurmflex"
	defaultState   = "/var/lib/slurmflex"
	defaultAddress = "127.0.0.1:8918"
)

// Waiting is the state in which Slurm shows jobs that wait for machines.
type Waiting string

// Configuring is the default.
const (
	Configuring Waiting = "configuring" // Slurm gives them powered-down nodes, and they wait for these to boot
	Pending     Waiting = "pending"     // the daemon keeps powered-down nodes from them until machines have come
)

// Options is the slurmflex section: the program itself.
type Options struct {
	Interval          time.Duration // of reconcile passes; 1 s to 1 h, default 30 s
	MaxActiveRequests int           // live resize requests per region; 1 to 100,000, default 100
	MaxActivePerUser  int           // of these for one user's jobs; 0 to 100,000, default 0: no limit
	YieldAfter        time.Duration // least time a request keeps its place; 0 to 365 days, default 1 h, 0: for ever
	Waiting           Waiting       // how jobs wait for machines; default Configuring
	PendingGrace      time.Duration // from the daemon's end to Slurm's giving nodes to jobs itself, in whole minutes; 2 m to 1 h, default 6 m
	MaxDeletions      int           // instances a pass that Slurm did not ask to delete; 0 to 100,000, default 10
	MaxGates          int           // PrologSlurmctld that wait for their jobs' nodes at once; 0 to 40, default 10, the most on Slurm before 24.11
	APICalls          int           // calls to Compute a second, after a burst of ten seconds' worth; 1 to 1000, default 20
	CapacityAdvice    bool          // estimate asks Compute's advice.capacity too; default false
	MetricsByAccount  bool          // the metrics have Slurm's accounts, for anyone who may read them; default false
	HTTPAddress       string        // host:port of metrics, health and status; default 127.0.0.1:8918
	ComputeEndpoint   string        // http(s)://host[:port] in place of Google's, which gets tokens of CredentialsFile only; empty: Google's
	Delegate          Delegate
	RunDir            string // of the socket and the lock; absolute, default /run/slurmflex
	StateDir          string // of the history, which is only for people to read; absolute, default /var/lib/slurmflex
	LogFile           string // absolute, default slurmflex.log in slurm_log_dir
	LogFormat         string // json, console, or by default auto: JSON in the file, readable lines on stderr
	LogLevel          string // debug, info, warn or error; default info
	CredentialsFile   string // absolute, default google_app_cred_path; empty: Application Default Credentials
}

// Delegate names the programs that are called for nodes that are not ours,
// absolute or empty: nobody is called.
type Delegate struct {
	ResumeProgram  string
	SuspendProgram string
}

// readOptions reads the slurmflex section; the files' names that are not given
// are taken from unset.
func readOptions(s *section, unset Options) Options {
	o := Options{
		Interval:          s.duration("interval", 30*time.Second, time.Second, time.Hour),
		MaxActiveRequests: s.integer("max_active_requests", 100, 1, 100_000),
		MaxActivePerUser:  s.integer("max_active_requests_per_user", 0, 0, 100_000),
		YieldAfter:        s.duration("yield_after", time.Hour, 0, maxProvisionTimeout),
		Waiting:           Waiting(choice(s, "waiting", string(Configuring), string(Pending))),
		PendingGrace:      s.duration("pending_grace", 6*time.Minute, 2*time.Minute, time.Hour),
		MaxDeletions:      s.integer("max_deletions_per_round", 10, 0, 100_000),
		MaxGates:          s.integer("max_gates", 10, 0, 40),
		APICalls:          s.integer("api_calls_per_second", 20, 1, 1000),
		CapacityAdvice:    s.flag("capacity_advice"),
		MetricsByAccount:  s.flag("metrics_by_account"),
		HTTPAddress:       s.address("http_address", defaultAddress),
		ComputeEndpoint:   s.endpoint("compute_endpoint"),
		Delegate:          readDelegate(s.section("delegate")),
		RunDir:            s.absolute("run_dir", defaultRunDir),
		StateDir:          s.absolute("state_dir", defaultState),
		LogFile:           s.absolute("log_file", unset.LogFile),
		LogFormat:         choice(s, "log_format", "auto", "json", "console"),
		LogLevel:          choice(s, "log_level", "info", "debug", "warn", "error"),
		CredentialsFile:   s.absolute("credentials_file", unset.CredentialsFile),
	}
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

func readDelegate(s *section) Delegate {
	d := Delegate{
		ResumeProgram:  s.absolute("resume_program", ""),
		SuspendProgram: s.absolute("suspend_program", ""),
	}
	s.finish()
	return d
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
