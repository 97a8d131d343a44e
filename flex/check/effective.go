package check

import (
	"bytes"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"slurmflex/config"
)

// effective is a configuration file with every key that has an effect, also those
// that are not given. It loads as the same configuration.
type effective struct {
	Cluster     string                        `yaml:"slurm_cluster_name"`
	Project     string                        `yaml:"project"`
	SlurmBinDir string                        `yaml:"slurm_bin_dir,omitempty"`
	SlurmLogDir string                        `yaml:"slurm_log_dir"`
	Partitions  map[string]effectivePartition `yaml:"partitions"`
	NodeSets    map[string]effectiveNodeSet   `yaml:"nodeset"`
	Options     effectiveOptions              `yaml:"slurmflex"`
}

type effectivePartition struct {
	Name      string   `yaml:"partition_name"`
	Exclusive bool     `yaml:"enable_job_exclusive"`
	NodeSets  []string `yaml:"partition_nodeset,flow"`
}

// effectiveNodeSet of a nodeset that is not ours has its first three keys only.
type effectiveNodeSet struct {
	Name       string             `yaml:"nodeset_name"`
	Static     int                `yaml:"node_count_static"`
	DynamicMax int                `yaml:"node_count_dynamic_max"`
	Ours       *effectivePlace    `yaml:",inline"`
	Flex       *effectiveFlex     `yaml:"dws_flex,omitempty"`
	AtOnce     *effectiveCapacity `yaml:",inline"`
	NodeConf   map[string]string  `yaml:"node_conf,omitempty"`
}

type effectivePlace struct {
	Template   string   `yaml:"instance_template"`
	Subnetwork string   `yaml:"subnetwork"`
	Zones      []string `yaml:"zone_policy_allow,flow"`
	Placement  bool     `yaml:"enable_placement"`
	Distance   int      `yaml:"placement_max_distance,omitempty"`
}

type effectiveCapacity struct {
	Capacity           config.Capacity      `yaml:"capacity"`
	Reservation        string               `yaml:"reservation_name,omitempty"`
	ProvisionTimeout   int                  `yaml:"provision_timeout"`
	OnProvisionTimeout config.TimeoutAction `yaml:"on_provision_timeout"`
	BootTimeout        int                  `yaml:"boot_timeout"`
	KeepIdle           int                  `yaml:"keep_idle"`
}

type effectiveFlex struct {
	MaxRunDuration     int                   `yaml:"max_run_duration"`
	UseJobDuration     bool                  `yaml:"use_job_duration"`
	UseBulkInsert      bool                  `yaml:"use_bulk_insert"`
	Provisioning       config.Provisioning   `yaml:"provisioning"`
	JobDurationMargin  int                   `yaml:"job_duration_margin"`
	ProvisionTimeout   int                   `yaml:"provision_timeout"`
	OnProvisionTimeout config.TimeoutAction  `yaml:"on_provision_timeout"`
	ShareRequests      int                   `yaml:"share_requests"`
	FallbackAfter      int                   `yaml:"fallback_after"`
	RefreshAfter       int                   `yaml:"refresh_after"`
	MaxAttempts        int                   `yaml:"max_attempts"`
	GangTimeout        int                   `yaml:"gang_timeout"`
	BootTimeout        int                   `yaml:"boot_timeout"`
	BootFailures       int                   `yaml:"boot_failures"`
	OnLeaseEnd         config.LeaseEndAction `yaml:"on_lease_end"`
	LeaseEndWarning    int                   `yaml:"lease_end_warning"`
	LeaseEndSignal     string                `yaml:"lease_end_signal"`
	KeepIdle           int                   `yaml:"keep_idle"`
	RenewBefore        int                   `yaml:"renew_before"`
	Salvage            bool                  `yaml:"salvage"`
	SalvageTimeout     int                   `yaml:"salvage_timeout"`
}

type effectiveOptions struct {
	Interval          string            `yaml:"interval"`
	MaxActiveRequests int               `yaml:"max_active_requests"`
	MaxActivePerUser  int               `yaml:"max_active_requests_per_user"`
	YieldAfter        string            `yaml:"yield_after"`
	MaxDeletions      int               `yaml:"max_deletions_per_round"`
	MaxGates          int               `yaml:"max_gates"`
	APICalls          int               `yaml:"api_calls_per_second"`
	CapacityAdvice    bool              `yaml:"capacity_advice"`
	MetricsByAccount  bool              `yaml:"metrics_by_account"`
	HTTPAddress       string            `yaml:"http_address"`
	ComputeEndpoint   string            `yaml:"compute_endpoint,omitempty"`
	RunDir            string            `yaml:"run_dir"`
	StateDir          string            `yaml:"state_dir"`
	LogFile           string            `yaml:"log_file"`
	LogFormat         string            `yaml:"log_format"`
	LogLevel          string            `yaml:"log_level"`
	CredentialsFile   string            `yaml:"credentials_file,omitempty"`
	Delegate          effectiveDelegate `yaml:"delegate,omitempty"`
}

type effectiveDelegate struct {
	ResumeProgram  string `yaml:"resume_program,omitempty"`
	SuspendProgram string `yaml:"suspend_program,omitempty"`
}

// Effective is the effective configuration, defaults included, as YAML.
func Effective(cfg *config.Config) ([]byte, error) {
	o := cfg.Options
	e := effective{
		Cluster: cfg.Cluster, Project: cfg.Project, SlurmBinDir: cfg.SlurmBinDir, SlurmLogDir: cfg.SlurmLogDir,
		Partitions: map[string]effectivePartition{}, NodeSets: map[string]effectiveNodeSet{},
		Options: effectiveOptions{
			Interval: o.Interval.String(), MaxActiveRequests: o.MaxActiveRequests,
			MaxActivePerUser: o.MaxActivePerUser, YieldAfter: o.YieldAfter.String(), MaxDeletions: o.MaxDeletions, MaxGates: o.MaxGates,
			APICalls: o.APICalls, CapacityAdvice: o.CapacityAdvice, MetricsByAccount: o.MetricsByAccount, HTTPAddress: o.HTTPAddress, ComputeEndpoint: o.ComputeEndpoint, RunDir: o.RunDir, StateDir: o.StateDir,
			LogFile: o.LogFile, LogFormat: o.LogFormat, LogLevel: o.LogLevel, CredentialsFile: o.CredentialsFile,
			Delegate: effectiveDelegate(o.Delegate),
		},
	}
	for _, p := range cfg.Partitions {
		e.Partitions[p.Name] = effectivePartition{p.Name, p.Exclusive, p.NodeSets}
	}
	for _, set := range cfg.NodeSets {
		e.NodeSets[set.Name] = effectiveSet(set)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("write the effective configuration: %w", err)
	}
	return b.Bytes(), nil
}

func effectiveSet(set *config.NodeSet) effectiveNodeSet {
	e := effectiveNodeSet{Name: set.Name, Static: set.Static, DynamicMax: set.DynamicMax}
	f := set.Flex
	if f == nil {
		return e
	}
	e.Ours = &effectivePlace{set.Template, set.Subnetwork, set.Zones, set.Placement, set.PlacementDistance}
	e.NodeConf = set.NodeConf
	if f.Capacity.AtOnce() {
		e.AtOnce = &effectiveCapacity{
			Capacity: f.Capacity, Reservation: f.Reservation, ProvisionTimeout: seconds(f.ProvisionTimeout),
			OnProvisionTimeout: f.OnProvisionTimeout, BootTimeout: seconds(f.BootTimeout), KeepIdle: seconds(f.KeepIdle),
		}
		return e
	}
	e.Flex = &effectiveFlex{
		MaxRunDuration: seconds(f.MaxRunDuration), UseJobDuration: f.UseJobDuration, UseBulkInsert: f.UseBulkInsert,
		Provisioning: f.Provisioning, JobDurationMargin: seconds(f.JobDurationMargin),
		ProvisionTimeout: seconds(f.ProvisionTimeout), OnProvisionTimeout: f.OnProvisionTimeout,
		FallbackAfter: seconds(f.FallbackAfter), RefreshAfter: seconds(f.RefreshAfter), ShareRequests: f.ShareRequests, MaxAttempts: f.MaxAttempts, GangTimeout: seconds(f.GangTimeout), BootTimeout: seconds(f.BootTimeout),
		BootFailures: f.BootFailures, KeepIdle: seconds(f.KeepIdle), OnLeaseEnd: f.OnLeaseEnd,
		LeaseEndWarning: seconds(f.LeaseEndWarning), LeaseEndSignal: f.LeaseEndSignal, RenewBefore: seconds(f.RenewBefore),
		Salvage: f.Salvage, SalvageTimeout: seconds(f.SalvageTimeout),
	}
	return e
}

func seconds(d time.Duration) int { return int(d / time.Second) }
