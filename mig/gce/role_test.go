package gce_test

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
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

// uses call every method of the client, in every way that reaches another method of the API. Each
// use has its own world without capacity.
var uses = map[string]func(w world) error{
	"Groups": func(w world) error { w.asked(); w.group(); return nil },
	"Group": func(w world) error {
		w.asked()
		_, err := w.Client.Group(w.t.Context(), region, "alpha-x")
		return err
	},
	"Instances": func(w world) error {
		w.seen()
		_, err := w.instances("us-central1-a")
		return err
	},
	"Foreign": func(w world) error {
		_, unseen := w.Foreign(w.t.Context(), "alpha", []string{region})
		return unseen[region]
	},
	"Members": func(w world) error {
		w.asked()
		_, err := w.Members(w.t.Context(), region, "alpha-x")
		return err
	},
	"Policies": func(w world) error {
		_, unseen := w.Policies(w.t.Context(), "alpha", []string{region})
		return unseen[region]
	},
	"Template": func(w world) error {
		global := must.Get(w.cloud.AddTemplate("", fakegce.FlexTemplate("a3", machine)))
		must.Get(w.Template(w.t.Context(), global))
		_, err := w.Template(w.t.Context(), w.template)
		return err
	},
	"Region": func(w world) error { _, err := w.Region(w.t.Context(), region); return err },
	"Zone":   func(w world) error { _, err := w.Zone(w.t.Context(), "us-central1-a"); return err },
	"MachineType": func(w world) error {
		_, err := w.MachineType(w.t.Context(), "us-central1-a", machine)
		return err
	},
	"Clock": func(w world) error { _, err := w.Clock(w.t.Context(), region); return err },
	"CreateGroup": func(w world) error {
		w.asked()
		assert.Error(w.t, w.CreateGroup(w.t.Context(), w.spec("alpha-x", 1)), "it exists already, so its owner is read")
		return nil
	},
	"CreateRequest": func(w world) error { w.asked(); return nil },
	"CancelRequest": func(w world) error {
		w.asked()
		return w.CancelRequest(w.t.Context(), region, "alpha-x", "a1")
	},
	"DeleteRequest": func(w world) error {
		w.asked()
		must.Do(w.CancelRequest(w.t.Context(), region, "alpha-x", "a1"))
		return w.DeleteRequest(w.t.Context(), region, "alpha-x", "a1")
	},
	"DeleteInstances": func(w world) error {
		w.cloud.SetCapacity("", "", -1)
		w.asked()
		time.Sleep(time.Minute)
		return w.DeleteInstances(w.t.Context(), region, "alpha-x", w.seen())
	},
	"DeleteGroup": func(w world) error {
		w.asked()
		return w.DeleteGroup(w.t.Context(), region, "alpha-x")
	},
	"BulkInsert": func(w world) error {
		assert.Error(w.t, w.BulkInsert(w.t.Context(), w.bulk("us-central1-a")), "out of capacity, so the parts' errors are read")
		assert.Error(w.t, w.BulkInsert(w.t.Context(), w.bulk("us-central1-a", "us-central1-b")))
		return nil
	},
	"DeleteVMs": func(w world) error {
		w.cloud.SetCapacity("", "", -1)
		must.Do(w.BulkInsert(w.t.Context(), w.bulk("us-central1-a")))
		return w.DeleteVMs(w.t.Context(), w.seen())
	},
	"CreatePolicy": func(w world) error { return w.CreatePolicy(w.t.Context(), w.policy("alpha-w")) },
	"DeletePolicy": func(w world) error {
		must.Do(w.CreatePolicy(w.t.Context(), w.policy("alpha-w")))
		return w.DeletePolicy(w.t.Context(), region, "alpha-w")
	},
}

// called returns the API methods that the uses of the client call.
func called(t *testing.T) []string {
	t.Helper()
	methods := map[string]int{}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				w.cloud.SetCapacity("", "", 0)
				require.NoError(t, use(w))
				maps.Copy(methods, w.cloud.Counts())
			})
		})
	}
	return slices.Sorted(maps.Keys(methods))
}

func TestRoleHasExactlyTheNeededPermissions(t *testing.T) {
	client := reflect.TypeFor[*gce.Client]()
	var offered []string
	for i := range client.NumMethod() {
		if name := client.Method(i).Name; !slices.Contains([]string{"Close", "Date", "Lacking"}, name) { // methods without calls of Google
			offered = append(offered, name)
		}
	}
	require.Equal(t, offered, slices.Sorted(maps.Keys(uses)), "every method of the client is used")

	methods := called(t)
	require.Equal(t, slices.Sorted(maps.Keys(permissions)), methods, "every method of the API has a row, and every row its method")

	var want []string
	for _, method := range methods {
		want = append(want, permissions[method]...)
	}
	slices.Sort(want)
	want = slices.Compact(want)

	text, err := os.ReadFile(role)
	require.NoError(t, err)
	var got struct {
		IncludedPermissions []string `yaml:"includedPermissions"`
	}
	require.NoError(t, yaml.Unmarshal(text, &got))
	assert.Equal(t, want, got.IncludedPermissions)
}
