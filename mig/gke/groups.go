package gke

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objectName matches the names that both Compute and Kubernetes accept.
var objectName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Limits of flex-start, in seconds and in machines.
const (
	shortest = 600
	longest  = 604_800
	most     = 1000
)

func (g *Gateway) insertGroup(r *http.Request) (any, error) {
	var body struct{ Name string }
	text, err := read(r, &body)
	if err != nil {
		return nil, err
	}
	var whole obj
	_ = json.Unmarshal(text, &whole) // read has decoded it
	pool := poolOf(whole)
	switch _, known := g.settings.Pools[pool]; {
	case !objectName.MatchString(body.Name):
		return nil, invalid("%q is not the name of a group", body.Name)
	case !known:
		return nil, invalid("the gateway's configuration has no pool %q", pool)
	case whole["resourcePolicies"] != nil:
		return nil, &refusal{http.StatusNotImplemented, "notImplemented", "slurmflex-gke does not support placement; set enable_placement: false"}
	}
	if err := g.createGroup(r.Context(), body.Name, callOf(r), text); err != nil {
		return nil, err
	}
	return operation("operation-insert-"+body.Name, done), nil
}

// callOf returns the id of a call. slurmflex repeats a call with the same id if the answer got lost.
func callOf(r *http.Request) string { return r.URL.Query().Get("requestId") }

// members returns the group's pods that have a node by name, and the names of the machines that live
// requests lack. all are the group's pods.
func (of *group) members(all []*unstructured.Unstructured) (machines map[string]*unstructured.Unstructured, lacking []string) {
	machines = map[string]*unstructured.Unstructured{}
	for _, p := range all {
		if nodeOf(p) != "" {
			machines[p.GetName()] = p
		}
	}
	for _, r := range of.inOrder() {
		for _, name := range r.Instances {
			if r.state(of) == accepted && machines[name] == nil && !slices.Contains(lacking, name) {
				lacking = append(lacking, name)
			}
		}
	}
	return machines, lacking
}

// show returns a group as Compute shows it. all are the group's pods.
func (of *group) show(all []*unstructured.Unstructured) obj {
	machines, lacking := of.members(all)
	maps.DeleteFunc(machines, func(_ string, p *unstructured.Unstructured) bool { return leaving(p) })
	shown := maps.Clone(of.body)
	shown["name"], shown["creationTimestamp"] = of.name, of.created.Format(time.RFC3339)
	shown["targetSize"], shown["currentActions"] = len(machines)+len(lacking), obj{"creating": len(lacking)}
	return shown
}

func (g *Gateway) listGroups(r *http.Request) (any, error) {
	all, err := g.byGroup(r.Context(), pods)
	if err != nil {
		return nil, err
	}
	groups, err := g.groups(r.Context())
	if err != nil {
		return nil, err
	}
	items := []obj{}
	for _, of := range groups {
		items = append(items, of.show(all[of.name]))
	}
	return obj{"kind": "compute#regionInstanceGroupManagerList", "items": items}, nil
}

func (g *Gateway) getGroup(r *http.Request) (any, error) {
	of, all, err := g.readGroupWithPods(r)
	if err != nil {
		return nil, err
	}
	return of.show(all), nil
}

// deleteGroup marks the group. Passes delete its objects, and the operation is done when they are gone.
func (g *Gateway) deleteGroup(r *http.Request) (any, error) {
	name := r.PathValue("group")
	err := g.change(r.Context(), name, func(*group) (map[string]string, error) {
		return map[string]string{deletingKey: "true"}, nil
	})
	if err != nil {
		return nil, err
	}
	g.stir()
	return operation(deletion+name, "RUNNING"), nil
}

// deletion is the first part of the names of operations that delete a group, which are all that take
// time.
const deletion = "operation-delete-"

// waitLimit is how long a call waits for an operation.
const waitLimit = 60 * time.Second

func (g *Gateway) awaitOperation(r *http.Request) (any, error) {
	name := r.PathValue("operation")
	group, deletes := strings.CutPrefix(name, deletion)
	if !deletes {
		return nil, notFound("regions/%s/operations/%s", g.settings.Region, name)
	}
	for end := time.Now().Add(waitLimit); ; {
		_, err := g.readGroup(r.Context(), group)
		if why, gone := err.(*refusal); gone && why.status == http.StatusNotFound { //nolint:errorlint // readGroup returns it unwrapped
			return operation(name, done), nil
		}
		if err != nil {
			return nil, err
		}
		if time.Now().After(end) {
			return operation(name, "RUNNING"), nil
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(g.pace / 4):
		}
	}
}

// deleteInstances deletes those of the named machines that the group has.
func (g *Gateway) deleteInstances(r *http.Request) (any, error) {
	var body struct{ Instances []string }
	if _, err := read(r, &body); err != nil {
		return nil, err
	}
	of, all, err := g.readGroupWithPods(r)
	if err != nil {
		return nil, err
	}
	for _, link := range body.Instances {
		at := slices.IndexFunc(all, func(p *unstructured.Unstructured) bool { return p.GetName() == path.Base(link) })
		if at < 0 || leaving(all[at]) {
			continue
		}
		if err := g.cluster.delete(r.Context(), pods, path.Base(link)); err != nil {
			return nil, err
		}
	}
	g.stir()
	return operation("operation-deleteInstances-"+of.name, done), nil
}

func (g *Gateway) insertRequest(r *http.Request) (any, error) {
	var body struct {
		Name      string
		Instances []struct{ Name string }
		Duration  struct {
			Seconds json.Number // a number or, as the API writes 64 bits, a text
		} `json:"requestedRunDuration"`
	}
	if _, err := read(r, &body); err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(body.Duration.Seconds.String(), 10, 64)
	if err != nil || seconds < shortest || seconds > longest {
		return nil, invalid("requestedRunDuration is %q; must be %d to %d s", body.Duration.Seconds, shortest, longest)
	}
	asked := &request{Name: body.Name, Call: callOf(r), Seconds: seconds, Created: time.Now().UTC().Truncate(time.Second)}
	for _, in := range body.Instances {
		asked.Instances = append(asked.Instances, in.Name)
	}
	if n := len(asked.Instances); n < 1 || n > most || !objectName.MatchString(body.Name) {
		return nil, invalid("request %q of %d machines; must have a name, and 1 to %d machines", body.Name, n, most)
	}
	for i, name := range asked.Instances {
		if !objectName.MatchString(name) || slices.Contains(asked.Instances[:i], name) {
			return nil, invalid("%q is not the name of one machine", name)
		}
	}
	err = g.change(r.Context(), r.PathValue("group"), func(of *group) (map[string]string, error) {
		where := fmt.Sprintf("projects/gke/regions/%s/instanceGroupManagers/%s", g.settings.Region, of.name)
		if of.deleting {
			return nil, &refusal{http.StatusBadRequest, "resourceNotReady", "The resource '" + where + "' is being deleted"}
		}
		if there := of.requests[asked.Name]; there != nil {
			if there.Call != "" && there.Call == asked.Call {
				return nil, nil
			}
			return nil, &refusal{http.StatusConflict, "alreadyExists", "The resource '" + where + "/resizeRequests/" + asked.Name + "' already exists"}
		}
		return asked.note(), nil
	})
	if err != nil {
		return nil, err
	}
	g.stir()
	return operation("operation-request-"+asked.Name, done), nil
}

func (g *Gateway) listRequests(r *http.Request) (any, error) {
	of, err := g.readGroup(r.Context(), r.PathValue("group"))
	if err != nil {
		return nil, err
	}
	items := []obj{}
	for _, asked := range of.inOrder() {
		names := []obj{}
		for _, name := range asked.Instances {
			names = append(names, obj{"name": name})
		}
		state, status := asked.state(of), obj{}
		if asked.Trouble != nil {
			why := obj{"errors": []obj{{"code": asked.Trouble.Code, "message": asked.Trouble.Message}}}
			switch state {
			case failed:
				status["error"] = why
			case accepted:
				status["lastAttempt"] = obj{"error": why}
			}
		}
		items = append(items, obj{
			"name": asked.Name, "state": state, "status": status, "creationTimestamp": asked.Created.Format(time.RFC3339),
			"instances": names, "resizeBy": len(names), "requestedRunDuration": obj{"seconds": strconv.FormatInt(asked.Seconds, 10)},
		})
	}
	return obj{"kind": "compute#regionInstanceGroupManagerResizeRequestsListResponse", "items": items}, nil
}

// endRequest changes the record of a request that is live, or that is not.
func (g *Gateway) endRequest(r *http.Request, live bool, do func(of *group, asked *request) (map[string]string, error)) (any, error) {
	g.changing.Lock()
	defer g.changing.Unlock()
	defer g.stir()
	name := r.PathValue("request")
	err := g.change(r.Context(), r.PathValue("group"), func(of *group) (map[string]string, error) {
		asked := of.requests[name]
		if asked == nil {
			return nil, notFound("regions/%s/instanceGroupManagers/%s/resizeRequests/%s", g.settings.Region, of.name, name)
		}
		if state := asked.state(of); (state == accepted) != live {
			return nil, &refusal{http.StatusPreconditionFailed, "conditionNotMet", fmt.Sprintf("The resize request %s is %s, which does not allow this.", name, state)}
		}
		return do(of, asked)
	})
	if err != nil {
		return nil, err
	}
	return operation("operation-end-"+name, done), nil
}

// cancelRequest ends a live request. The next pass deletes its objects.
func (g *Gateway) cancelRequest(r *http.Request) (any, error) {
	return g.endRequest(r, true, func(_ *group, asked *request) (map[string]string, error) {
		asked.Ended, asked.Trouble = cancelled, nil
		return asked.note(), nil
	})
}

// deleteRequest deletes the record of an ended request. It first deletes the objects of a failed or
// cancelled one.
func (g *Gateway) deleteRequest(r *http.Request) (any, error) {
	return g.endRequest(r, false, func(of *group, asked *request) (map[string]string, error) {
		if asked.Ended != succeeded {
			s, err := g.look(r.Context())
			if err == nil {
				err = g.clear(r.Context(), of, asked, s)
			}
			if err != nil {
				return nil, err
			}
		}
		return map[string]string{requestPrefix + asked.Name: ""}, nil
	})
}
