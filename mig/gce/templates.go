package gce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"slurmflex/mig"
)

const readingTemplate = "read instance template"

// templateLink matches a link's project, if present, and the rest of the link.
var templateLink = regexp.MustCompile(`^(?:(?:https?://[^/]+/compute/[^/]+/)?projects/([^/]+)/)?((global|regions/[^/]+)/instanceTemplates/[^/]+)$`)

// properties are the template properties that are read.
type properties struct {
	MachineType       string `json:"machineType"` // may be a link
	GuestAccelerators []struct {
		AcceleratorType  string `json:"acceleratorType"` // may be a link
		AcceleratorCount int32  `json:"acceleratorCount"`
	} `json:"guestAccelerators"`
	Scheduling struct {
		ProvisioningModel string `json:"provisioningModel"`
		MaxRunDuration    struct {
			Seconds json.Number `json:"seconds"`
			Nanos   int64       `json:"nanos"`
		} `json:"maxRunDuration"`
		InstanceTerminationAction string `json:"instanceTerminationAction"`
		OnHostMaintenance         string `json:"onHostMaintenance"`
	} `json:"scheduling"`
	ReservationAffinity struct {
		ConsumeReservationType string `json:"consumeReservationType"`
	} `json:"reservationAffinity"`
	ResourcePolicies []string          `json:"resourcePolicies"`
	Labels           map[string]string `json:"labels"`
}

// maxRun returns the template's maxRunDuration; 0 if it is not set.
func (p *properties) maxRun() (time.Duration, error) {
	d := p.Scheduling.MaxRunDuration
	if d.Seconds == "" {
		return time.Duration(d.Nanos), nil
	}
	seconds, err := d.Seconds.Int64()
	return time.Duration(seconds)*time.Second + time.Duration(d.Nanos), notUnderstood(err)
}

// Template reads an instance template by its URL or path. The project is optional and may be
// another project. A missing template is an error with mig.CauseNotFound.
func (c *Client) Template(ctx context.Context, link string) (mig.Template, error) {
	where, p, err := c.readTemplate(ctx, link)
	if err != nil {
		return mig.Template{}, err
	}
	t, err := templateOf(where, p)
	if err != nil {
		return mig.Template{}, failure(readingTemplate, link, reading, err)
	}
	return t, nil
}

// readTemplate reads a template's path and properties. A template without a machine type is an
// error.
func (c *Client) readTemplate(ctx context.Context, link string) (where string, _ *properties, _ error) {
	m := templateLink.FindStringSubmatch(link)
	if m == nil {
		return "", nil, &mig.Error{Op: readingTemplate, Object: link, Cause: mig.CauseConfig, Err: errors.New(
			"not a link of one; give projects/PROJECT/global/instanceTemplates/NAME or projects/PROJECT/regions/REGION/instanceTemplates/NAME")}
	}
	where = "projects/" + cmp.Or(m[1], c.project) + "/" + m[2]
	method := "instanceTemplates.get"
	if m[3] != "global" {
		method = "regionInstanceTemplates.get"
	}
	var p struct {
		Properties properties `json:"properties"`
	}
	err := c.get(calling(ctx, method), escaped(strings.Split(where, "/")...), &p)
	if err == nil && p.Properties.MachineType == "" {
		err = errors.New("a template without machine type")
	}
	if err != nil {
		return "", nil, failure(readingTemplate, link, reading, err)
	}
	return where, &p.Properties, nil
}

func templateOf(link string, p *properties) (mig.Template, error) {
	maxRun, err := p.maxRun()
	t := mig.Template{
		Link:        link,
		MachineType: path.Base(p.MachineType),
		Model:       p.Scheduling.ProvisioningModel,
		MaxRun:      maxRun,
		Termination: p.Scheduling.InstanceTerminationAction,
		Maintenance: p.Scheduling.OnHostMaintenance,
		Reservation: p.ReservationAffinity.ConsumeReservationType,
		Policies:    p.ResourcePolicies,
		Labels:      p.Labels,
	}
	if gpus := p.GuestAccelerators; len(gpus) > 0 {
		t.GPU, t.GPUs = path.Base(gpus[0].AcceleratorType), int(gpus[0].AcceleratorCount)
	}
	return t, err
}
