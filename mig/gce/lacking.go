package gce

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

// Lacking returns the methods that the program lacks which serves a region, of those that slurmflex
// calls. It calls each method in a way that changes nothing: for an object that does not exist, or
// with an empty body. docs/dev/provider.md describes the methods.
func (c *Client) Lacking(ctx context.Context, region string) (lacking []string, err error) {
	const op = "probe the methods of region"
	zones, err := c.zonesOf(ctx, region)
	if err != nil {
		return nil, failure(op, region, reading, err)
	}
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	const groups, group = "regions/{region}/instanceGroupManagers", "regions/{region}/instanceGroupManagers/slurmflex-probe"
	for _, m := range []struct{ name, verb, path string }{
		{"regionInstanceGroupManagers.insert", post, groups},
		{"regionInstanceGroupManagers.list", get, groups},
		{"regionInstanceGroupManagers.get", get, group},
		{"regionInstanceGroupManagers.delete", del, group},
		{"regionInstanceGroupManagers.deleteInstances", post, group + "/deleteInstances"},
		{"regionInstanceGroupManagers.listManagedInstances", post, group + "/listManagedInstances"},
		{"regionInstanceGroupManagerResizeRequests.insert", post, group + "/resizeRequests"},
		{"regionInstanceGroupManagerResizeRequests.list", get, group + "/resizeRequests"},
		{"regionInstanceGroupManagerResizeRequests.delete", del, group + "/resizeRequests/a1"},
		{"regionInstanceGroupManagerResizeRequests.cancel", post, group + "/resizeRequests/a1/cancel"},
		{"instances.list", get, "zones/{zone}/instances"},
		{mig.BulkInsert, post, "zones/{zone}/instances/bulkInsert"},
		{"regionInstanceTemplates.get", get, "regions/{region}/instanceTemplates/slurmflex-probe"},
		{"resourcePolicies.list", get, "regions/{region}/resourcePolicies"},
		{mig.InsertPolicy, post, "regions/{region}/resourcePolicies"},
		{"regionOperations.wait", post, "regions/{region}/operations/slurmflex-probe/wait"},
		{"machineTypes.get", get, "zones/{zone}/machineTypes/slurmflex-probe"},
		{"zones.get", get, "zones/{zone}"},
	} {
		path := strings.NewReplacer("{region}", region, "{zone}", zones[0]).Replace(m.path)
		missing, err := c.lacks(calling(ctx, m.name), m.verb, path)
		if err != nil {
			return nil, failure(op, region, reading, err)
		}
		if missing {
			lacking = append(lacking, m.name)
		}
	}
	return lacking, nil
}

// lacks calls a method, and reports whether the answer means that the program does not have it. An
// object that does not exist is reported by an error of Google's form.
func (c *Client) lacks(ctx context.Context, verb, path string) (bool, error) {
	var body io.Reader
	if verb == http.MethodPost {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(tryingOnce(ctx), verb, c.endpoint+"/compute/v1/projects/"+c.project+"/"+path, body)
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	err = googleapi.CheckResponse(resp)
	var e *googleapi.Error
	if errors.As(err, &e) {
		switch e.Code {
		case http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return true, nil
		case http.StatusNotFound:
			return answerFault(e).code == notGoogles, nil
		case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed:
			return false, nil
		}
	}
	return false, err
}
