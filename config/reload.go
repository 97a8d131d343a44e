package config

// Reload is what a process that runs with one configuration runs with when it
// has read another one: its own settings of what cannot be changed in a running
// process, whose keys are named if they differ, and the other's of all else.
func (c *Config) Reload(read *Config) (next *Config, restart []string) {
	merged := *read
	for _, s := range []struct {
		key       string
		now, next *string
	}{
		{"slurm_cluster_name", &c.Cluster, &merged.Cluster},
		{"project", &c.Project, &merged.Project},
		{"slurm_bin_dir", &c.SlurmBinDir, &merged.SlurmBinDir},
		{"slurmflex.run_dir", &c.Options.RunDir, &merged.Options.RunDir},
		{"slurmflex.state_dir", &c.Options.StateDir, &merged.Options.StateDir},
		{"slurmflex.http_address", &c.Options.HTTPAddress, &merged.Options.HTTPAddress},
		{"slurmflex.compute_endpoint", &c.Options.ComputeEndpoint, &merged.Options.ComputeEndpoint},
		{"slurmflex.credentials_file", &c.Options.CredentialsFile, &merged.Options.CredentialsFile},
		{"slurmflex.log_format", &c.Options.LogFormat, &merged.Options.LogFormat},
		{"slurmflex.log_level", &c.Options.LogLevel, &merged.Options.LogLevel},
	} {
		if *s.now != *s.next {
			restart = append(restart, s.key)
			*s.next = *s.now
		}
	}
	if c.Options.APICalls != merged.Options.APICalls {
		restart = append(restart, "slurmflex.api_calls_per_second")
		merged.Options.APICalls = c.Options.APICalls
	}
	return &merged, restart
}
