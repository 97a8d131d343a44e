package chaos

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// apiCall is a parsed API request.
type apiCall struct {
	kind   string // such as "delete group"
	object string // path after the project
	body   []byte
}

// aim returns the name of the group, machine or policy that a call targets.
func (a apiCall) aim() string {
	parts := strings.Split(a.object, "/")
	if i := slices.Index(parts, "instanceGroupManagers"); i >= 0 && i+1 < len(parts) {
		return parts[i+1]
	}
	return parts[len(parts)-1]
}

// aimedGroup returns the group that a call acts through, or "".
func (a apiCall) aimedGroup() string {
	if strings.Contains(a.object, "instanceGroupManagers/") {
		return a.aim()
	}
	return ""
}

// request returns the group/request that a call cancels.
func (a apiCall) request() string { return a.aim() + "/" + path.Base(path.Dir(a.object)) }

// machines returns the machines that a call deletes.
func (a apiCall) machines() []string {
	if a.kind == "delete instance" {
		return []string{a.aim()}
	}
	var list struct{ Instances []string }
	if err := json.Unmarshal(a.body, &list); err != nil {
		return nil // the fake refuses it
	}
	for i, link := range list.Instances {
		list.Instances[i] = path.Base(link)
	}
	return list.Instances
}
