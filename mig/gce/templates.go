package gce

import (
	"cmp"
	"context"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	rest "google.golang.org/api/compute/v1"

	"slurmflex/mig"
)

// templateLink matches a link's project, if present, and the rest of the link.
var templateLink = regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/([^/]+)/)?((global|regions/[^/]+)/instanceTemplates/[^/]+)$`)

// Template reads an instance template by its URL or path. The project is optional and may be
// another project. A missing template is an error with mig.CauseNotFound, and a template without a
// machine type with another cause.
func (c *Client) Template(ctx context.Context, link string) (mig.Template, error) {
	const op = "read instance template"
	m := templateLink.FindStringSubmatch(link)
	if m == nil {
		return mig.Template{}, &mig.Error{Op: op, Object: link, Trouble: mig.Trouble{
			Cause:   mig.CauseConfig,
			Message: "not a link of one; give projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME",
		}}
	}
	project, name := cmp.Or(m[1], c.project), path.Base(m[2])
	var t *rest.InstanceTemplate
	var err error
	if region, regional := strings.CutPrefix(m[3], "regions/"); regional {
		t, err = c.rest().RegionInstanceTemplates.Get(project, region, name).Context(calling(ctx, "regionInstanceTemplates.get")).Do()
	} else {
		t, err = c.rest().InstanceTemplates.Get(project, name).Context(calling(ctx, "instanceTemplates.get")).Do()
	}
	if err == nil && (t.Properties == nil || t.Properties.MachineType == "") {
		err = errors.New("a template without machine type")
	}
	if err != nil {
		return mig.Template{}, failure(op, link, reading, err)
	}
	return templateOf("projects/"+project+"/"+m[2], t.Properties), nil
}

func templateOf(link string, p *rest.InstanceProperties) mig.Template {
	t := mig.Template{Link: link, MachineType: path.Base(p.MachineType), Policies: p.ResourcePolicies, Labels: p.Labels}
	if s := p.Scheduling; s != nil {
		t.Model, t.Termination, t.Maintenance = s.ProvisioningModel, s.InstanceTerminationAction, s.OnHostMaintenance
		if d := s.MaxRunDuration; d != nil {
			t.MaxRun = time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos)
		}
	}
	if a := p.ReservationAffinity; a != nil {
		t.Reservation = a.ConsumeReservationType
	}
	if gpus := given(p.GuestAccelerators); len(gpus) > 0 {
		t.GPU, t.GPUs = path.Base(gpus[0].AcceleratorType), int(gpus[0].AcceleratorCount)
	}
	return t
}
