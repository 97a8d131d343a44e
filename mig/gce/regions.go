package gce

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"go.uber.org/zap"

	rest "google.golang.org/api/compute/v1"

	"slurmflex/mig"
)

// Region reads a region and the quotas that Compute shows with it. A missing region is an error
// with mig.CauseNotFound or mig.CauseConfig.
func (c *Client) Region(ctx context.Context, name string) (mig.Region, error) {
	p, err := c.readRegion(ctx, name)
	if err == nil && p.QuotaStatusWarning != nil {
		err = fmt.Errorf("its quotas are missing: %s: %s", p.QuotaStatusWarning.Code, p.QuotaStatusWarning.Message)
	}
	if err == nil && p.Name == "" {
		err = errors.New("a region without name")
	}
	if err != nil {
		return mig.Region{}, failure("read region", name, reading, err)
	}
	r := mig.Region{Up: p.Status == "UP", Quotas: map[string]float64{}}
	for _, q := range given(p.Quotas) {
		r.Quotas[q.Metric] = q.Limit
	}
	return r, nil
}

func (c *Client) readRegion(ctx context.Context, name string) (*rest.Region, error) {
	p, err := c.rest().Regions.Get(c.project, name).Context(calling(ctx, "regions.get")).Do()
	return p, err
}

// zonesAge is how long a list of a region's zones is valid. Google adds a zone once in years.
const zonesAge = time.Hour

// zonesAt has the zones of a region, and when they were read.
type zonesAt struct {
	zones []string
	read  time.Time
}

// zonesOf reads the names of a region's zones.
func (c *Client) zonesOf(ctx context.Context, region string) ([]string, error) {
	r, err := c.readRegion(ctx, region)
	if err == nil && len(r.Zones) == 0 {
		err = errors.New("a region without zones")
	}
	if err != nil {
		return nil, err
	}
	zones := make([]string, len(r.Zones))
	for i, link := range r.Zones {
		zones[i] = path.Base(link)
	}
	c.zones.Store(region, zonesAt{zones, time.Now()})
	return zones, nil
}

// knownZones returns the names of a region's zones, read within an hour. If they cannot be read, it
// returns the last known ones. It fails only if none are known and the caller needs them.
func (c *Client) knownZones(ctx context.Context, region string, needed bool) ([]string, error) {
	known, _ := c.zones.Load(region)
	last, _ := known.(zonesAt)
	if last.zones != nil && time.Since(last.read) < zonesAge {
		return slices.Clone(last.zones), nil
	}
	zones := slices.Clone(last.zones)
	err := c.outages.read(ctx, region, needed && last.zones == nil, func(ctx context.Context) error {
		now, err := c.zonesOf(ctx, region)
		switch {
		case err == nil:
			zones = now
		case ctx.Err() == nil: // otherwise the pass has ended
			c.log.Warn("zones of a region not read: machines in zones without nodesets are not seen", zap.String("region", region), zap.String("error", textOf(err)))
		}
		return err
	})
	return zones, err
}

// ZoneIsUp reads whether a zone is UP. A missing zone is an error with mig.CauseNotFound or
// mig.CauseConfig.
func (c *Client) ZoneIsUp(ctx context.Context, name string) (bool, error) {
	p, err := c.rest().Zones.Get(c.project, name).Context(calling(ctx, "zones.get")).Do()
	if err == nil && p.Name == "" {
		err = errors.New("a zone without name")
	}
	if err != nil {
		return false, failure("read zone", name, reading, err)
	}
	return p.Status == "UP", nil
}

// MachineType reads a machine type in a zone. A machine type that the zone lacks is an error with
// mig.CauseNotFound.
func (c *Client) MachineType(ctx context.Context, zone, name string) (mig.MachineType, error) {
	p, err := c.rest().MachineTypes.Get(c.project, zone, name).Context(calling(ctx, "machineTypes.get")).Do()
	if err == nil && (p.Name == "" || p.GuestCpus == 0) {
		err = errors.New("a machine type without name or CPUs")
	}
	if err != nil {
		return mig.MachineType{}, failure("read machine type", path.Join(zone, name), reading, err)
	}
	m := mig.MachineType{Name: p.Name, CPUs: int(p.GuestCpus), Memory: int(p.MemoryMb)}
	if gpus := given(p.Accelerators); len(gpus) > 0 {
		m.GPU, m.GPUs = gpus[0].GuestAcceleratorType, int(gpus[0].GuestAcceleratorCount)
	}
	return m, nil
}
