package trial

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// deviation makes Compute behave differently from what slurmflex expects.
type deviation struct {
	switches fakegce.Switches
	fault    fakegce.Fault
	via      func(w *world) func(http.RoundTripper, *http.Request) (*http.Response, error)
}

// forbidden rejects calls of a method for lack of a permission.
func forbidden(method string) deviation {
	return deviation{fault: fakegce.Fault{Method: method, Status: http.StatusForbidden, Message: "Required permission"}}
}

// oddly rejects one call of a method with status 400, after letting the first calls through. The
// trial expects another reason, or no rejection.
func oddly(method string, behind int) deviation {
	return deviation{fault: fakegce.Fault{Method: method, Skip: behind, Times: 1, Status: http.StatusBadRequest}}
}

// object is a JSON object.
type object = map[string]any

// answers changes the answers to calls with this verb and with a path that ends in path.
func answers(verb, path string, change func(w *world, answer object)) deviation {
	return deviation{via: func(w *world) func(http.RoundTripper, *http.Request) (*http.Response, error) {
		return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err != nil || r.Method != verb || !strings.HasSuffix(r.URL.Path, path) {
				return resp, err
			}
			var answer object
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				return nil, err
			}
			change(w, answer)
			text, err := json.Marshal(answer)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			return resp, err
		}
	}}
}

// asking changes calls with this verb and path before they reach Compute.
func asking(verb, path string, change func(w *world, r *http.Request, body string) (string, *http.Response)) deviation {
	return deviation{via: func(w *world) func(http.RoundTripper, *http.Request) (*http.Response, error) {
		return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.Method != verb || !strings.HasSuffix(r.URL.Path, path) {
				return next.RoundTrip(r)
			}
			body := []byte{}
			if r.Body != nil {
				body, _ = io.ReadAll(r.Body)
			}
			changed, answer := change(w, r, string(body))
			if answer != nil {
				return answer, nil
			}
			r.Body = io.NopCloser(strings.NewReader(changed))
			return next.RoundTrip(r)
		}
	}}
}

// answer returns an answer with this status and body.
func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

const forbiddenBody = `{"error":{"code":403,"message":"Required permission","errors":[{"reason":"forbidden","message":"Required permission"}]}}`

// group changes the group in answers, once the condition holds.
func group(when func(w *world) bool, change func(g object)) deviation {
	return answers(http.MethodGet, "/alpha-trial--kxqzv-g", func(w *world, g object) {
		if when(w) {
			change(g)
		}
	})
}

// request changes the record of a request, once the condition holds.
func request(name string, when func(w *world) bool, change func(r object)) deviation {
	return answers(http.MethodGet, "/resizeRequests", func(w *world, list object) {
		items, _ := list["items"].([]any)
		for _, item := range items {
			if r := item.(object); r["name"] == name && when(w) {
				change(r)
			}
		}
	})
}

// members changes the list of members, once the condition holds.
func members(when func(w *world) bool, change func(all []any) []any) deviation {
	return answers(http.MethodPost, "/listManagedInstances", func(w *world, list object) {
		all, _ := list["managedInstances"].([]any)
		if when(w) {
			list["managedInstances"] = change(all)
		}
	})
}

// vm changes the machines in the list of instances.
func vm(change func(in object)) deviation {
	return answers(http.MethodGet, "/instances", func(_ *world, list object) {
		all, _ := list["items"].([]any)
		for _, in := range all {
			change(in.(object))
		}
	})
}

func always(*world) bool { return true }

// is reports whether the request is in a state.
func is(request, state string) func(w *world) bool {
	return func(w *world) bool {
		for _, g := range w.cloud.State().Groups {
			for _, r := range g.Requests {
				if r.Name == request && r.State == state {
					return true
				}
			}
		}
		return false
	}
}

// runs reports whether the machine of a request runs.
func runs(w *world) bool {
	in, ok := w.cloud.State().Instance("alpha-trial--kxqzv-0")
	return ok && in.Status == "RUNNING"
}

// isDeleted reports whether the machine was deleted through its group.
func isDeleted(w *world) bool {
	return is(requestDeleted, "SUCCEEDED")(w) && len(w.cloud.State().Instances) == 0
}

// deviations maps each check to a deviation that makes it fail. Most deviations make other checks
// fail too.
var deviations = map[string]deviation{
	"may read templates":            forbidden("*nstanceTemplates.get"),
	"may read regions":              forbidden("regions.get"),
	"may read zones":                forbidden("zones.get"),
	"may read machine types":        forbidden("machineTypes.get"),
	"may list groups":               {fault: fakegce.Fault{Method: "*GroupManagers.list", Times: 1, Status: http.StatusForbidden}},
	"may list instances":            {fault: fakegce.Fault{Method: "instances.list", Object: "us-central1-b", Times: 1, Status: http.StatusForbidden}},
	"may list policies":             forbidden("resourcePolicies.list"),
	"may create policies":           forbidden("resourcePolicies.insert"),
	"may delete policies":           {fault: fakegce.Fault{Method: "resourcePolicies.delete", Times: 1, Status: http.StatusForbidden}},
	"may create groups":             forbidden("*GroupManagers.insert"),
	"may read groups":               forbidden("*GroupManagers.get"),
	"may read members":              forbidden("*.listManagedInstances"),
	"may create requests":           forbidden("*ResizeRequests.insert"),
	"may cancel requests":           forbidden("*ResizeRequests.cancel"),
	"may delete requests":           forbidden("*ResizeRequests.delete"),
	"may delete machines of groups": forbidden("*.deleteInstances"),
	"may delete machines":           forbidden("instances.delete"),
	"may delete groups":             {fault: fakegce.Fault{Method: "*GroupManagers.delete", Times: 1, Status: http.StatusForbidden}},

	"clock": {via: func(*world) func(http.RoundTripper, *http.Request) (*http.Response, error) {
		return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/regions/us-central1") {
				resp.Header.Set("Date", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
			}
			return resp, err
		}
	}},
	"repeated call": asking(http.MethodPost, "/instanceGroupManagers", func(_ *world, r *http.Request, body string) (string, *http.Response) {
		r.URL.RawQuery = ""
		return body, nil
	}),
	"empty group":    group(func(w *world) bool { return !is(requestCancelled, "ACCEPTED")(w) }, func(g object) { g["targetSize"] = 1 }),
	"stamp":          group(always, func(g object) { g["description"] = "" }),
	"group's zones":  group(always, func(g object) { g["distributionPolicy"] = object{} }),
	"second group":   oddly("*GroupManagers.insert", 2),
	"request":        oddly("*ResizeRequests.insert", 0),
	"accepted":       request(requestCancelled, is(requestCancelled, "ACCEPTED"), func(r object) { r["state"] = "CREATING" }),
	"raised size":    {switches: fakegce.Switches{TargetSizeAt: fakegce.AtSucceeded}},
	"kept request":   request(requestCancelled, always, func(r object) { r["instances"] = []any{} }),
	"waiting member": members(is(requestCancelled, "ACCEPTED"), func([]any) []any { return nil }),
	"cancel":         oddly("*ResizeRequests.cancel", 0),
	"cancelled":      request(requestCancelled, is(requestCancelled, "CANCELLED"), func(r object) { r["state"] = "FAILED" }),
	"lowered size":   group(is(requestCancelled, "CANCELLED"), func(g object) { g["targetSize"] = 1 }),
	"cancelled member": members(is(requestCancelled, "CANCELLED"), func(all []any) []any {
		return append(all, object{"name": "alpha-trial--kxqzv-1", "currentAction": "DELETING"})
	}),
	"second cancel":  oddly("*ResizeRequests.cancel", 1),
	"deleted record": {fault: fakegce.Fault{Method: "*ResizeRequests.delete", OperationError: &fakegce.Problem{Code: "INTERNAL_ERROR"}}},
	"short lease": asking(http.MethodPost, "/resizeRequests", func(_ *world, _ *http.Request, body string) (string, *http.Response) {
		return strings.Replace(body, `"60"`, `"600"`, 1), nil
	}),
	"refused record": {switches: fakegce.Switches{ForgetRefused: true}},
	"second request": oddly("*ResizeRequests.insert", 3),
	"delete while waiting": asking(http.MethodDelete, "/resizeRequests/deleted", func(*world, *http.Request, string) (string, *http.Response) {
		return "", answer(http.StatusOK, `{"kind":"compute#operation","name":"operation-1","status":"DONE"}`)
	}),

	"granted":            request(requestDeleted, is(requestDeleted, "SUCCEEDED"), func(r object) { r["state"] = "FAILED" }),
	"granted size":       group(runs, func(g object) { g["targetSize"] = 0 }),
	"running member":     members(runs, func(all []any) []any { all[0].(object)["currentAction"] = "VERIFYING"; return all }),
	"listed machine":     {fault: fakegce.Fault{Method: "instances.list", Omitted: "alpha"}},
	"flex-start machine": vm(func(in object) { in["scheduling"] = object{"provisioningModel": "STANDARD"} }),
	"machine's group":    vm(func(in object) { in["metadata"] = object{} }),
	"machine's zone": asking(http.MethodGet, "/instances", func(_ *world, r *http.Request, body string) (string, *http.Response) {
		r.URL.Path = strings.NewReplacer("us-central1-b", "us-central1-f", "us-central1-f", "us-central1-b").Replace(r.URL.Path)
		return body, nil
	}),
	"lease":           {switches: fakegce.Switches{TemplateDuration: true}},
	"late cancel":     oddly("*ResizeRequests.cancel", 2),
	"deleted machine": group(isDeleted, func(g object) { g["targetSize"] = 1 }),
	"lasting success": request(requestDeleted, isDeleted, func(r object) { r["state"] = "FAILED" }),
	"name used again": oddly("*ResizeRequests.insert", 4),
	"lost machine":    {switches: fakegce.Switches{LostInstancesLeave: true}},
	"deleted group": asking(http.MethodGet, "/alpha-trial--kxqzv-g", func(w *world, _ *http.Request, body string) (string, *http.Response) {
		if len(w.cloud.State().Groups) == 0 {
			return "", answer(http.StatusForbidden, forbiddenBody)
		}
		return body, nil
	}),
	"empty lists": answers(http.MethodGet, "/zones/us-central1-b/instances", func(w *world, list object) {
		if w.said[len(w.said)-1] == "list groups and instances" {
			list["items"] = []any{object{"name": "alpha-trial--kxqzv-1", "status": "RUNNING", "creationTimestamp": "2026-11-22T10:00:00Z"}}
		}
	}),
}

func TestEachDeviationFailsItsCheck(t *testing.T) {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(deviations)), "each check has a Compute that makes it fail")
	for name, d := range deviations {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				if d.via != nil {
					w.wire.via = d.via(w)
				}
				if d.fault.Method != "" {
					w.fault(d.fault)
				}
				r := w.tries(t.Context())
				assert.Contains(t, r.having(failed), name, r.String())
				assert.False(t, r.good())
				assert.Contains(t, r.String(), "left behind: nothing")
			}, func(o *fakegce.Options) { o.Switches = d.switches })
		})
	}
}
