package gce_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/test/must"
)

// role is the file with the custom role for the controllers' service account.
const role = "../../scripts/toolkit/slurmflex/slurmflex-role.yaml"

// creatingInstances are the permissions that Compute checks when an account creates instances from
// a template. Source: "Create VMs in bulk", Required permissions, for a template with image,
// subnetwork, metadata, tags, labels and service account. The role leaves out
// iam.serviceAccounts.actAs, which is granted on that one account.
var creatingInstances = []string{
	"compute.disks.create", "compute.images.useReadOnly", "compute.instanceTemplates.useReadOnly", "compute.instances.create",
	"compute.instances.setLabels", "compute.instances.setMetadata", "compute.instances.setServiceAccount",
	"compute.instances.setTags", "compute.subnetworks.use",
}

// permissions lists the permissions that each API method checks. Sources:
//   - R: IAM permissions on the method's page in the API reference, which was read.
//   - M: "Create a MIG with A4 or A3 Ultra", Required permissions, which was read.
//   - E: roles that other projects give to creators of groups contain the permission. A managed
//     group is also an instance group, and creating it also requires the permissions for
//     creating instances.
//   - K: inferred from the API's naming of methods and permissions, not documented.
var permissions = map[string][]string{
	"regionInstanceGroupManagers.list": {"compute.instanceGroupManagers.list"}, // K
	"regionInstanceGroupManagers.insert": append([]string{
		"compute.instanceGroupManagers.create", // M
		"compute.instanceGroups.create",        // E
		"compute.resourcePolicies.use",         // K, for a workload policy
	}, creatingInstances...), // E
	"regionInstanceGroupManagers.get":                  {"compute.instanceGroupManagers.get"},                                     // K
	"regionInstanceGroupManagers.listManagedInstances": {"compute.instanceGroupManagers.get"},                                     // K
	"regionInstanceGroupManagers.deleteInstances":      {"compute.instanceGroupManagers.update"},                                  // K
	"regionInstanceGroupManagers.delete":               {"compute.instanceGroupManagers.delete", "compute.instanceGroups.delete"}, // K, E

	"regionInstanceGroupManagerResizeRequests.list":   {"compute.instanceGroupManagers.get"},    // K
	"regionInstanceGroupManagerResizeRequests.insert": {"compute.instanceGroupManagers.update"}, // R
	"regionInstanceGroupManagerResizeRequests.cancel": {"compute.instanceGroupManagers.update"}, // K
	"regionInstanceGroupManagerResizeRequests.delete": {"compute.instanceGroupManagers.update"}, // K

	"instances.list":             {"compute.instances.list"},   // K
	"instances.bulkInsert":       creatingInstances,            // see above
	"regionInstances.bulkInsert": creatingInstances,            // see above
	"instances.delete":           {"compute.instances.delete"}, // K

	"instanceTemplates.get":       {"compute.instanceTemplates.get"}, // K
	"regionInstanceTemplates.get": {"compute.instanceTemplates.get"}, // K

	"resourcePolicies.list":   {"compute.resourcePolicies.list"},   // K
	"resourcePolicies.insert": {"compute.resourcePolicies.create"}, // K
	"resourcePolicies.delete": {"compute.resourcePolicies.delete"}, // K

	"regions.get":                     {"compute.regions.get"},           // K
	"zones.get":                       {"compute.zones.get"},             // K
	"machineTypes.get":                {"compute.machineTypes.get"},      // K
	"regionOperations.wait":           {"compute.regionOperations.get"},  // K
	"zoneOperations.wait":             {"compute.zoneOperations.get"},    // K
	"globalOperations.aggregatedList": {"compute.globalOperations.list"}, // K
}

// called returns the API methods that the client's calls name.
func called() (methods []string) {
	name := regexp.MustCompile(`"([a-z]\w+\.[a-z]\w+)"`)
	for _, file := range must.Get(filepath.Glob("*.go")) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range name.FindAllStringSubmatch(must.Text(file), -1) {
			methods = append(methods, found[1])
		}
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

func TestRoleHasExactlyTheNeededPermissions(t *testing.T) {
	methods := called()
	require.Equal(t, slices.Sorted(maps.Keys(permissions)), methods, "every method of the API has a row, and every row its method")
	var want []string
	for _, method := range methods {
		want = append(want, permissions[method]...)
	}
	slices.Sort(want)
	var got struct {
		IncludedPermissions []string `yaml:"includedPermissions"`
	}
	require.NoError(t, yaml.Unmarshal(must.Get(os.ReadFile(role)), &got))
	assert.Equal(t, slices.Compact(want), got.IncludedPermissions)
}
