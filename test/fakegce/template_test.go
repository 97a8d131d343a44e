package fakegce

import (
	"net/http"
	"testing"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"
	"google.golang.org/protobuf/proto"
)

// givenTemplates has templates in place that are each wrong for flex-start in
// one way.
func givenTemplates(t *testing.T, w *world) {
	t.Helper()
	for name, edit := range map[string]func(*compute.InstanceProperties){
		"standard": func(p *compute.InstanceProperties) { p.Scheduling.ProvisioningModel = "STANDARD" },
		"stops":    func(p *compute.InstanceProperties) { p.Scheduling.InstanceTerminationAction = "STOP" },
		"migrates": func(p *compute.InstanceProperties) { p.Scheduling.OnHostMaintenance = "MIGRATE" },
		"reserved": func(p *compute.InstanceProperties) { p.ReservationAffinity = nil },
		"endless":  func(p *compute.InstanceProperties) { p.Scheduling.MaxRunDuration = nil },
		"placed":   func(p *compute.InstanceProperties) { p.ResourcePolicies = []string{"compact"} },
		"unknown":  func(p *compute.InstanceProperties) { p.MachineType = "z9-mega" },
		"odd": func(p *compute.InstanceProperties) {
			p.GuestAccelerators = []*compute.AcceleratorConfig{{AcceleratorType: "nvidia-tesla-t4", AcceleratorCount: 1}}
		},
		"cpu": func(p *compute.InstanceProperties) { p.MachineType = "n2-standard-16" },
		"a4x": func(p *compute.InstanceProperties) { p.MachineType = "a4x-highgpu-4g" },
		"h4d": func(p *compute.InstanceProperties) { p.MachineType = "h4d-standard-192" },
	} {
		spec := FlexTemplate(name, testMachine)
		edit(spec.Properties)
		_, err := w.AddTemplate(testRegion, spec)
		require.NoError(t, err)
	}
}

// withTemplate is a flex-start group of another template.
func withTemplate(name string) *computepb.InstanceGroupManager {
	g := flexGroup("m")
	g.Versions[0].InstanceTemplate = proto.String("projects/demo/regions/us-central1/instanceTemplates/" + name)
	return g
}

func TestH4DComesByFlexStartWithoutAccelerators(t *testing.T) {
	w := newWorld(t, Options{})
	givenTemplates(t, w)
	_, err := w.insertGroup(withTemplate("h4d"))
	require.NoError(t, err)
	w.givenRequest("m", "r", "n0")
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
}

func TestATemplateOrPolicyCannotGoBeforeTheGroupThatUsesIt(t *testing.T) {
	w := newWorld(t, Options{})
	client := &http.Client{Transport: w.Transport()}
	post(t, client, "regions/us-central1/resourcePolicies", `{"name":"wp","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
	g := flexGroup("m")
	g.ResourcePolicies = &computepb.InstanceGroupManagerResourcePolicies{WorkloadPolicy: proto.String("projects/demo/regions/us-central1/resourcePolicies/wp")}
	_, err := w.insertGroup(g)
	require.NoError(t, err)

	for _, path := range []string{"regions/us-central1/instanceTemplates/a3", "regions/us-central1/resourcePolicies/wp"} {
		status, body := ask(t, client, http.MethodDelete, path, "")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Contains(t, body, `"reason":"resourceInUseByAnotherResource"`)
		assert.Contains(t, body, "is already being used by 'projects/demo/regions/us-central1/instanceGroupManagers/m'")
	}
	_, err = w.deleteGroup("m")
	require.NoError(t, err)
	for _, path := range []string{"regions/us-central1/instanceTemplates/a3", "regions/us-central1/resourcePolicies/wp"} {
		status, body := ask(t, client, http.MethodDelete, path, "")
		assert.Equal(t, http.StatusOK, status, body)
		status, _ = ask(t, client, http.MethodGet, path, "")
		assert.Equal(t, http.StatusNotFound, status)
	}
}

func TestATemplateCanBeInsertedAndIsReadBackAsItWas(t *testing.T) {
	w := newWorld(t, Options{})
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	body := `{"name":"t","properties":{"machineType":"a3-highgpu-8g","scheduling":{"provisioningModel":"FLEX_START","maxRunDuration":{"seconds":"7200"}}}}`
	for _, at := range []string{"global/instanceTemplates", "regions/us-central1/instanceTemplates"} {
		post(t, client, at, body)
		status, got := ask(t, client, http.MethodGet, at+"/t", "")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, got, `"maxRunDuration":{"seconds":"7200"}`)
		status, got = ask(t, client, http.MethodPost, at, body)
		assert.Equal(t, http.StatusConflict, status, got)
	}
	status, got := ask(t, client, http.MethodPost, "global/instanceTemplates", `{"name":"u","properties":{}}`)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, got, "machineType")
}
