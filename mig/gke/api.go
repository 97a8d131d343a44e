package gke

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// obj is a JSON object.
type obj = map[string]any

// bodyLimit is the most bytes of a call's body: 1,000 names are 100 KB.
const bodyLimit = 1 << 20

// handle answers a call, or returns an error for refusalOf.
type handle func(r *http.Request) (any, error)

// Handler returns the handler of the API. Calls must carry the token in a file, if it is not empty;
// the file is read for each call, so that a new token needs no restart.
func (g *Gateway) Handler(tokenFile string) http.Handler {
	mux := http.NewServeMux()
	add := func(method, pattern string, do handle) {
		verb, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(verb+" /compute/v1/projects/{project}/"+path, func(w http.ResponseWriter, r *http.Request) {
			begun := time.Now()
			status := g.answer(w, r, tokenFile, do)
			g.measures.call(method, status, time.Since(begun))
			g.log.Debug("call", "method", method, "path", r.URL.Path, "status", status, "took", time.Since(begun))
		})
	}
	region := "regions/" + g.settings.Region
	groups, group := region+"/instanceGroupManagers", region+"/instanceGroupManagers/{group}"
	add("regionInstanceGroupManagers.list", "GET "+groups, g.listGroups)
	add("regionInstanceGroupManagers.insert", "POST "+groups, g.insertGroup)
	add("regionInstanceGroupManagers.get", "GET "+group, g.getGroup)
	add("regionInstanceGroupManagers.delete", "DELETE "+group, g.deleteGroup)
	add("regionInstanceGroupManagers.deleteInstances", "POST "+group+"/deleteInstances", g.deleteInstances)
	add("regionInstanceGroupManagers.listManagedInstances", "POST "+group+"/listManagedInstances", g.listMembers)
	add("regionInstanceGroupManagerResizeRequests.list", "GET "+group+"/resizeRequests", g.listRequests)
	add("regionInstanceGroupManagerResizeRequests.insert", "POST "+group+"/resizeRequests", g.insertRequest)
	add("regionInstanceGroupManagerResizeRequests.delete", "DELETE "+group+"/resizeRequests/{request}", g.deleteRequest)
	add("regionInstanceGroupManagerResizeRequests.cancel", "POST "+group+"/resizeRequests/{request}/cancel", g.cancelRequest)
	add("instances.list", "GET zones/{zone}/instances", g.listInstances)
	add("regionInstanceTemplates.get", "GET "+region+"/instanceTemplates/{pool}", g.getTemplate)
	add("machineTypes.get", "GET zones/{zone}/machineTypes/{type}", g.getMachineType)
	add("regions.get", "GET "+region, g.getRegion)
	add("zones.get", "GET zones/{zone}", g.getZone)
	add("regionOperations.wait", "POST "+region+"/operations/{operation}/wait", g.awaitOperation)
	add("resourcePolicies.list", "GET "+region+"/resourcePolicies", func(*http.Request) (any, error) {
		return obj{"kind": "compute#resourcePolicyList"}, nil
	})
	lacking := func(what, instead string) handle {
		return func(*http.Request) (any, error) {
			return nil, &refusal{http.StatusNotImplemented, "notImplemented", "slurmflex-gke does not support " + what + "; " + instead}
		}
	}
	const bulk = "bulk insert, nor capacity: spot, on_demand or reservation"
	add("resourcePolicies.insert", "POST "+region+"/resourcePolicies", lacking("placement", "set enable_placement: false"))
	add("instances.bulkInsert", "POST zones/{zone}/instances/bulkInsert", lacking(bulk, "use dws_flex without use_bulk_insert"))
	add("regionInstances.bulkInsert", "POST "+region+"/instances/bulkInsert", lacking(bulk, "use dws_flex without use_bulk_insert"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, &refusal{http.StatusNotImplemented, "notImplemented", fmt.Sprintf(
			"slurmflex-gke, which serves region %s, does not have %s %s", g.settings.Region, r.Method, r.URL.Path)})
	})
	return mux
}

// answer answers one call, and returns the status.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, tokenFile string, do handle) int {
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		want := "Bearer " + strings.TrimSpace(string(token))
		if err != nil || want == "Bearer " || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) != 1 {
			return reply(w, &refusal{http.StatusUnauthorized, "authError", "the call does not carry the gateway's token; set token_file"})
		}
	}
	body, err := do(r)
	if err != nil {
		why := refusalOf(err)
		if why.status >= 500 && why.status != http.StatusNotImplemented {
			g.log.Error("call failed", "path", r.URL.Path, "error", why.message)
		}
		return reply(w, why)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
	return http.StatusOK
}

// reply answers with an error in Google's form.
func reply(w http.ResponseWriter, why *refusal) int {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(why.status)
	_ = json.NewEncoder(w).Encode(obj{"error": obj{
		"code": why.status, "message": why.message,
		"errors": []obj{{"domain": "global", "reason": why.reason, "message": why.message}},
	}})
	return why.status
}

// read decodes the body of a call.
func read(r *http.Request, into any) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > bodyLimit:
		return nil, invalid("the body is larger than %d bytes", bodyLimit)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, invalid("the body is not JSON: %s", oneLine(err.Error()))
	}
	return text, nil
}

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "invalid", fmt.Sprintf(format, args...)}
}

// operation returns an operation of that name.
func operation(name, status string) obj {
	return obj{"kind": "compute#operation", "id": "1", "name": name, "status": status}
}

const done = "DONE"
