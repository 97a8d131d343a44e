package lab

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"slurmflex/test/fakegce/remote"
)

// startFake starts the fake Compute API, whose VMs are slurmds.
func (l *Lab) startFake() error {
	log, err := os.Create(l.Log("fakegce.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{
		"--project", "demo", "--operation-time", cmp.Or(l.OperationTime, 500*time.Millisecond).String(),
		"--boot-time", "2s", "--delete-time", "3s", "--attempt-interval", "1s",
		"--boot-command", l.path("bin/boot"), "--delete-command", l.path("bin/delete"),
	}
	for _, set := range append([]NodeSet{{Name: "a3", Machine: "a3-megagpu-8g"}, {Name: "g2", Machine: "g2-standard-48"}}, l.NodeSets...) {
		if set.Machine != "" {
			args = append(args, "--template", set.Name+"="+set.Machine+"@us-central1")
		}
	}
	l.fake, err = remote.Start(filepath.Join(l.Build, "slurmflex-fakegce"), log, args...)
	if err != nil {
		return fmt.Errorf("%w; see %s", err, log.Name())
	}
	l.Endpoint = l.fake.Endpoint
	return nil
}

// Ask reads JSON from the fake's control surface, such as "state".
func (l *Lab) Ask(ctx context.Context, what string, answer any) error {
	return (&remote.Fake{Endpoint: l.Endpoint}).Ask(ctx, what, answer)
}

// Tell changes something in the fake's world, such as "capacity".
func (l *Lab) Tell(ctx context.Context, what string, order any) error {
	return (&remote.Fake{Endpoint: l.Endpoint}).Tell(ctx, what, order)
}
