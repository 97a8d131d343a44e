package gce

import (
	"cmp"
	"context"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// templateLink has a link's project, if it names one, and what follows it.
var templateLink = regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/([^/]+)/)?((global|regions/[^/]+)/instanceTemplates/[^/]+)$`)

// Template reads an instance template by its URL or path, with or without its
// project, which may be another one. One that does not exist is an error with
// mig.CauseNotFound.
func (c *Client) Template(ctx context.Context, link string) (mig.Template, error) {
	where, p, err := c.readTemplate(ctx, link)
	if err != nil {
		return mig.Template{}, err
	}
	return templateOf(where, p), nil
}

// readTemplate reads a template's path and properties, which have a machine type.
func (c *Client) readTemplate(ctx context.Context, link string) (where string, _ *computepb.InstanceProperties, _ error) {
	const op = "read instance template"
	m := templateLink.FindStringSubmatch(link)
	if m == nil {
		return "", nil, &mig.Error{Op: op, Object: link, Cause: mig.CauseConfig, Err: errors.New(
			"not a link of one; give projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME")}
	}
	where = "projects/" + cmp.Or(m[1], c.project) + "/" + m[2]
	method := "instanceTemplates.get"
	if m[3] != "global" {
		method = "regionInstanceTemplates.get"
	}
	var p computepb.InstanceTemplate
	err := c.get(calling(ctx, method), escaped(strings.Split(where, "/")...), nil, &p)
	if err == nil && p.GetProperties().GetMachineType() == "" {
		err = errors.New("a template without machine type")
	}
	if err != nil {
		return "", nil, failure(op, link, reading, err)
	}
	return where, p.GetProperties(), nil
}

func templateOf(link string, p *computepb.InstanceProperties) mig.Template {
	s := p.GetScheduling()
	t := mig.Template{
		Link:        link,
		MachineType: path.Base(p.GetMachineType()),
		Model:       s.GetProvisioningModel(),
		MaxRun:      time.Duration(s.GetMaxRunDuration().GetSeconds())*time.Second + time.Duration(s.GetMaxRunDuration().GetNanos()),
		Termination: s.GetInstanceTerminationAction(),
		Maintenance: s.GetOnHostMaintenance(),
		Reservation: p.GetReservationAffinity().GetConsumeReservationType(),
		Policies:    p.GetResourcePolicies(),
		Labels:      p.GetLabels(),
	}
	if gpus := p.GetGuestAccelerators(); len(gpus) > 0 {
		t.GPU, t.GPUs = path.Base(gpus[0].GetAcceleratorType()), int(gpus[0].GetAcceleratorCount())
	}
	return t
}
