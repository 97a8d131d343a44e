package slurm

import (
	"fmt"
	"regexp"
	"strings"
)

// Controller is one slurmctld as scontrol ping sees it.
type Controller struct {
	Role string // primary, backup, backup1, …
	Host string
	Up   bool
}

var controllerForm = regexp.MustCompile(`^Slurmctld\((\w+)\) at (\S+) is (UP|DOWN)$`)

// ParsePing reads what scontrol ping printed. Lines that are about no
// slurmctld are passed over: with none up, Slurm adds a banner. Output about
// no slurmctld at all is an error.
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
