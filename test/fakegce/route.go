package fakegce

import (
	"net/http"
	"strconv"
	"strings"
)

// route is one method of the API.
type route struct {
	method  string // name in the discovery document, such as instances.delete
	verb    string
	pattern []string // of the path after projects/P/; {x} matches any one part
	query   []string // accepted parameters
	handle  func(*Server, *call) (any, error)
}

// match returns the values of the pattern's variables if path matches the pattern.
func (r *route) match(path []string) (map[string]string, bool) {
	if len(path) != len(r.pattern) {
		return nil, false
	}
	vars := make(map[string]string)
	for i, part := range r.pattern {
		switch {
		case strings.HasPrefix(part, "{"):
			vars[strings.Trim(part, "{}")] = path[i]
		case part != path[i]:
			return nil, false
		}
	}
	return vars, true
}

// find returns the route for a call, or a refusal. A method that this fake lacks is refused
// with 501, because a 404 would look like a missing resource.
func (s *Server) find(verb, path string) (*route, map[string]string, error) {
	rest, ok := strings.CutPrefix(path, "/compute/v1/projects/")
	parts := strings.Split(rest, "/")
	unknown := &refusal{
		Status: http.StatusNotFound, Reason: "notFound",
		Message: "The requested URL " + verb + " " + path + " was not found on this server.",
	}
	if !ok || len(parts) < 2 {
		return nil, nil, unknown
	}
	if parts[0] != s.opts.Project && parts[0] != projectNumber {
		return nil, nil, &refusal{
			Status: http.StatusNotFound, Reason: "notFound",
			Message: "The resource 'projects/" + parts[0] + "' was not found",
		}
	}
	for i := range s.routes {
		if r := &s.routes[i]; r.verb == verb {
			if vars, ok := r.match(parts[1:]); ok {
				return r, vars, routeFault(r, vars)
			}
		}
	}
	return nil, nil, notImplemented("This fake does not implement " + verb + " " + path + ".")
}

// routeFault refuses a route that api.json lacks, and resources named by numeric ID.
func routeFault(r *route, vars map[string]string) error {
	if _, known := theAPI().Methods[r.method]; !known {
		return notImplemented("This fake's api.json lacks " + r.method + ": UPDATE=1 go test ./test/fakegce -run TestAPIDocumentIsThatOfThePinnedModule writes it.")
	}
	for _, name := range []string{vars["name"], vars["request"]} {
		if _, err := strconv.ParseUint(name, 10, 64); err == nil {
			return notImplemented("This fake does not find resources by their ids, such as " + name + ".")
		}
	}
	return nil
}

// once is the parameter of all methods that start an operation.
const once = "requestId"

// routes returns the methods that the fake supports.
func routes() []route {
	var all []route
	add := func(method, verb, path string, handle func(*Server, *call) (any, error), query ...string) {
		all = append(all, route{method, verb, strings.Split(path, "/"), query, handle})
	}
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	list := []string{"filter", "maxResults", "pageToken"}

	const groups, group = "regions/{region}/instanceGroupManagers", "regions/{region}/instanceGroupManagers/{name}"
	add("regionInstanceGroupManagers.insert", post, groups, (*Server).insertGroup, once)
	add("regionInstanceGroupManagers.list", get, groups, (*Server).listGroups, list...)
	add("regionInstanceGroupManagers.get", get, group, (*Server).getGroup)
	add("regionInstanceGroupManagers.delete", del, group, (*Server).deleteGroup, once)
	add("regionInstanceGroupManagers.deleteInstances", post, group+"/deleteInstances", (*Server).deleteMembers, once)
	add("regionInstanceGroupManagers.listManagedInstances", post, group+"/listManagedInstances", (*Server).listMembers)

	const requests, request = group + "/resizeRequests", group + "/resizeRequests/{request}"
	add("regionInstanceGroupManagerResizeRequests.insert", post, requests, (*Server).insertRequest, once)
	add("regionInstanceGroupManagerResizeRequests.list", get, requests, (*Server).listRequests, list...)
	add("regionInstanceGroupManagerResizeRequests.delete", del, request, (*Server).deleteRequest, once)
	add("regionInstanceGroupManagerResizeRequests.cancel", post, request+"/cancel", (*Server).cancelRequest, once)

	add("instances.bulkInsert", post, "zones/{zone}/instances/bulkInsert", (*Server).bulkInsert, once)
	add("instances.list", get, "zones/{zone}/instances", (*Server).listInstances, list...)
	add("instances.delete", del, "zones/{zone}/instances/{name}", (*Server).deleteInstance, once)
	add("regionInstances.bulkInsert", post, "regions/{region}/instances/bulkInsert", (*Server).bulkInsert, once)

	for _, scope := range []struct{ method, at string }{
		{"instanceTemplates.", "global/"}, {"regionInstanceTemplates.", "regions/{region}/"},
	} {
		path := scope.at + "instanceTemplates"
		add(scope.method+"insert", post, path, (*Server).insertTemplate, once)
		add(scope.method+"get", get, path+"/{name}", (*Server).getTemplate)
	}

	const policies = "regions/{region}/resourcePolicies"
	add("resourcePolicies.insert", post, policies, (*Server).insertPolicy, once)
	add("resourcePolicies.list", get, policies, (*Server).listPolicies, list...)
	add("resourcePolicies.delete", del, policies+"/{name}", (*Server).deletePolicy, once)

	for _, scope := range []struct{ method, at string }{
		{"regionOperations.", "regions/{region}/"}, {"zoneOperations.", "zones/{zone}/"}, {"globalOperations.", "global/"},
	} {
		path := scope.at + "operations"
		add(scope.method+"get", get, path+"/{name}", (*Server).getOperation)
		add(scope.method+"wait", post, path+"/{name}/wait", (*Server).getOperation)
	}
	add("globalOperations.aggregatedList", get, "aggregated/operations", (*Server).aggregatedOperations, list...)

	add("machineTypes.get", get, "zones/{zone}/machineTypes/{name}", (*Server).getMachineType)
	add("regions.get", get, "regions/{region}", (*Server).getRegion)
	add("zones.get", get, "zones/{zone}", (*Server).getZone)
	return all
}
