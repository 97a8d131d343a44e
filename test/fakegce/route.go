package fakegce

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// route is one method of the API.
type route struct {
	method  string // name in the discovery document, such as instances.delete
	verb    string
	pattern []string // of the path after projects/P/; {x} matches any one part
	query   []string // accepted parameters
	handle  handler
}

type handler func(*Server, *call) (any, error)

// match returns the values of the pattern's variables if path matches the pattern.
func (r *route) match(path []string) (map[string]string, bool) {
	if len(path) != len(r.pattern) {
		return nil, false
	}
	vars := make(map[string]string)
	for i, part := range r.pattern {
		switch {
		case slices.Contains([]string{"{region}", "{zone}", "{resizeRequest}"}, part):
			vars[strings.Trim(part, "{}")] = path[i]
		case strings.HasPrefix(part, "{"):
			vars["name"] = path[i]
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
				return r, vars, routeFault(vars)
			}
		}
	}
	return nil, nil, notImplemented("This fake does not implement " + verb + " " + path + ".")
}

// routeFault refuses resources named by numeric ID.
func routeFault(vars map[string]string) error {
	for _, name := range []string{vars["name"], vars["resizeRequest"]} {
		if _, err := strconv.ParseUint(name, 10, 64); err == nil {
			return notImplemented("This fake does not find resources by their ids, such as " + name + ".")
		}
	}
	return nil
}

// once is the parameter of all methods that start an operation.
const once = "requestId"

// handlers returns the methods that the fake supports.
func handlers() map[string]handler {
	return map[string]handler{
		"regionInstanceGroupManagers.insert":               (*Server).insertGroup,
		"regionInstanceGroupManagers.list":                 (*Server).listGroups,
		"regionInstanceGroupManagers.get":                  (*Server).getGroup,
		"regionInstanceGroupManagers.delete":               (*Server).deleteGroup,
		"regionInstanceGroupManagers.deleteInstances":      (*Server).deleteMembers,
		"regionInstanceGroupManagers.listManagedInstances": (*Server).listMembers,
		"regionInstanceGroupManagerResizeRequests.insert":  (*Server).insertRequest,
		"regionInstanceGroupManagerResizeRequests.list":    (*Server).listRequests,
		"regionInstanceGroupManagerResizeRequests.delete":  (*Server).deleteRequest,
		"regionInstanceGroupManagerResizeRequests.cancel":  (*Server).cancelRequest,
		"instances.bulkInsert":                             (*Server).bulkInsert,
		"instances.list":                                   (*Server).listInstances,
		"instances.delete":                                 (*Server).deleteInstance,
		"regionInstances.bulkInsert":                       (*Server).bulkInsert,
		"instanceTemplates.insert":                         (*Server).insertTemplate,
		"regionInstanceTemplates.insert":                   (*Server).insertTemplate,
		"instanceTemplates.get":                            (*Server).getTemplate,
		"regionInstanceTemplates.get":                      (*Server).getTemplate,
		"resourcePolicies.insert":                          (*Server).insertPolicy,
		"resourcePolicies.list":                            (*Server).listPolicies,
		"resourcePolicies.delete":                          (*Server).deletePolicy,
		"regionOperations.get":                             (*Server).getOperation,
		"zoneOperations.get":                               (*Server).getOperation,
		"globalOperations.get":                             (*Server).getOperation,
		"regionOperations.wait":                            (*Server).getOperation,
		"zoneOperations.wait":                              (*Server).getOperation,
		"globalOperations.wait":                            (*Server).getOperation,
		"globalOperations.aggregatedList":                  (*Server).aggregatedOperations,
		"machineTypes.get":                                 (*Server).getMachineType,
		"regions.get":                                      (*Server).getRegion,
		"zones.get":                                        (*Server).getZone,
	}
}

// routes returns the methods as api.json describes them, with the parameters that the fake supports.
func routes(handlers map[string]handler) (all []route) {
	for name, handle := range handlers {
		m, known := theAPI().Methods[name]
		if !known {
			panic("fakegce: api.json lacks " + name + ": UPDATE=1 go test ./test/fakegce -run TestAPIDocumentIsThatOfThePinnedModule writes it")
		}
		var query []string
		for _, p := range []string{once, "filter", "maxResults", "pageToken"} {
			if _, has := m.Parameters[p]; has && !strings.HasSuffix(name, "ManagedInstances") { // that list has no pages here
				query = append(query, p)
			}
		}
		all = append(all, route{name, m.HTTPMethod, strings.Split(m.Path, "/")[2:], query, handle})
	}
	return all
}
