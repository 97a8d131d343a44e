package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"slurmflex/test/fakegce/remote"
	"slurmflex/test/lab"
)

// gke is a stand-in for a GKE cluster, and the gateway to it.
type gke struct {
	dir              string
	cluster, gateway *remote.Fake
}

// startGKE starts both programs. The caller must call stop even if it fails.
func startGKE(build string) (g gke, err error) {
	g.cluster, g.gateway = &remote.Fake{}, &remote.Fake{}
	if g.dir, err = os.MkdirTemp("", "slurmflex-demo-gke-"); err != nil {
		return g, err
	}
	start := func(into **remote.Fake, program string, args ...string) error {
		started, err := remote.Start(filepath.Join(build, program), nil, args...)
		if err == nil {
			*into = started
		}
		return err
	}
	if err := start(&g.cluster, "slurmflex-fakegke", "--programs", filepath.Join(g.dir, "programs")); err != nil {
		return g, err
	}
	args, err := lab.WriteGateway(g.dir, filepath.Join(build, "slurmflex-gke"), g.cluster.Endpoint, "")
	if err != nil {
		return g, err
	}
	return g, start(&g.gateway, "slurmflex-gke", args...)
}

func (g gke) stop() {
	g.gateway.Stop()
	g.cluster.Stop()
	_ = os.RemoveAll(g.dir)
}

// supply sets the number of machines that may be created.
func (g gke) supply(ctx context.Context, machines int) error {
	url := fmt.Sprint(g.cluster.Endpoint, "/fake/capacity?machines=", machines)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
