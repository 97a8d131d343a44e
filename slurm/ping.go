package slurm

import (
	"fmt"
	"regexp"
	"strings"
)

// Controller is one slurmctld in the output of scontrol ping.
type Controller struct {
	Role string // primary, backup, backup1, …
	Host string
	Up   bool
}

var controllerForm = regexp.MustCompile(`^Slurmctld\((\w+)\) at (\S+) is (UP|DOWN)$`)

// ParsePing parses the output of scontrol ping. It skips lines that name no slurmctld, because
// Slurm adds a banner if no controller is up. Output without any slurmctld is an error.
func ParsePing(out []byte) ([]Controller, error) {
	var controllers []Controller
	for line := range strings.Lines(string(out)) {
		if fields := controllerForm.FindStringSubmatch(strings.TrimSpace(line)); fields != nil {
			controllers = append(controllers, Controller{Role: fields[1], Host: fields[2], Up: fields[3] == "UP"})
		}
	}
	if controllers == nil {
		return nil, fmt.Errorf("scontrol ping: %s: about no slurmctld", quote(string(out)))
	}
	return controllers, nil
}
