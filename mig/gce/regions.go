package gce

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"slurmflex/mig"
)

// region is a region with the fields that are read.
type region struct {
	Name               string   `json:"name"`
	Status             string   `json:"status"`
	Zones              []string `json:"zones"` // links
	QuotaStatusWarning *warning `json:"quotaStatusWarning"`
	Quotas             []struct {
		Metric string  `json:"metric"`
		Limit  float64 `json:"limit"`
	} `json:"quotas"`
}

// Region reads a region and the quotas that Compute shows with it. A missing region is an error
// with mig.CauseNotFound or mig.CauseConfig.
func (c *Client) Region(ctx context.Context, name string) (mig.Region, error) {
	var p region
	err := c.get(calling(ctx, "regions.get"), c.within("regions", name), &p)
	if w := p.QuotaStatusWarning; err == nil && w != nil {
		err = fmt.Errorf("its quotas are missing: %s: %s", w.Code, w.Message)
	}
	if err == nil && p.Name == "" {
		err = errors.New("a region without name")
	}
	if err != nil {
		return mig.Region{}, failure("read region", name, reading, err)
	}
	r := mig.Region{Name: p.Name, Up: p.Status == "UP"}
	for _, q := range p.Quotas {
		r.Quotas = append(r.Quotas, mig.Quota{Metric: q.Metric, Limit: q.Limit})
	}
	return r, nil
}

// Zone reads a zone. A missing zone is an error with mig.CauseNotFound or mig.CauseConfig.
func (c *Client) Zone(ctx context.Context, name string) (mig.Zone, error) {
	var p struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}
	err := c.get(calling(ctx, "zones.get"), c.within("zones", name), &p)
	if err == nil && p.Name == "" {
		err = errors.New("a zone without name")
	}
	if err != nil {
		return mig.Zone{}, failure("read zone", name, reading, err)
	}
	return mig.Zone{Name: p.Name, Up: p.Status == "UP"}, nil
}

// MachineType reads a machine type in a zone. A machine type that the zone lacks is an error with
// mig.CauseNotFound.
func (c *Client) MachineType(ctx context.Context, zone, name string) (mig.MachineType, error) {
	var p struct {
		Name         string `json:"name"`
		GuestCPUs    int    `json:"guestCpus"`
		MemoryMB     int    `json:"memoryMb"`
		Accelerators []struct {
			Type  string `json:"guestAcceleratorType"`
			Count int    `json:"guestAcceleratorCount"`
		} `json:"accelerators"`
	}
	err := c.get(calling(ctx, "machineTypes.get"), c.within("zones", zone, "machineTypes", name), &p)
	if err == nil && (p.Name == "" || p.GuestCPUs == 0) {
		err = errors.New("a machine type without name or CPUs")
	}
	if err != nil {
		return mig.MachineType{}, failure("read machine type", path.Join(zone, name), reading, err)
	}
	m := mig.MachineType{Name: p.Name, CPUs: p.GuestCPUs, Memory: p.MemoryMB}
	if gpus := p.Accelerators; len(gpus) > 0 {
		m.GPU, m.GPUs = gpus[0].Type, gpus[0].Count
	}
	return m, nil
}

// Clock returns Compute's time in its answer about a region, in whole seconds.
func (c *Client) Clock(ctx context.Context, region string) (time.Time, error) {
	const op = "read Compute's clock in"
	header, _, err := c.answer(calling(ctx, "regions.get"), http.MethodGet, c.within("regions", region), nil)
	if err != nil {
		return time.Time{}, failure(op, region, reading, err)
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Time{}, failure(op, region, reading, fmt.Errorf("an answer without a date: %w", err))
	}
	return now, nil
}

// within returns the path of the parts within our project.
func (c *Client) within(parts ...string) string {
	return escaped(append([]string{"projects", c.project}, parts...)...)
}
