package fakegce

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"
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

// givenPlaced has a flex-start group m with a workload policy in place.
func (w *world) givenPlaced() {
	w.t.Helper()
	w.post("regions/us-central1/resourcePolicies", `{"name":"wp","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
	w.post(groupList, changed(w.t, plainGroup, `{"resourcePolicies":{"workloadPolicy":"regions/us-central1/resourcePolicies/wp"}}`))
}

func TestH4DComesByFlexStartWithoutAccelerators(t *testing.T) {
	w := newWorld(t, Options{})
	givenTemplates(t, w)
	w.post(groupList, changed(t, plainGroup, `{"versions":[{"instanceTemplate":"regions/us-central1/instanceTemplates/h4d"}]}`))
	w.givenRequest("m", "r", "n0")
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
}

func TestATemplateOrPolicyCannotGoBeforeTheGroupThatUsesIt(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenPlaced()
	used := []string{"regions/us-central1/instanceTemplates/a3", "regions/us-central1/resourcePolicies/wp"}
	for _, path := range used {
		status, body := w.ask(http.MethodDelete, path, "")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Contains(t, body, `"reason":"resourceInUseByAnotherResource"`)
		assert.Contains(t, body, "is already being used by 'projects/demo/regions/us-central1/instanceGroupManagers/m'")
	}
	w.begun(w.deleteGroup("m"))
	for _, path := range used {
		status, body := w.ask(http.MethodDelete, path, "")
		assert.Equal(t, http.StatusOK, status, body)
		status, _ = w.ask(http.MethodGet, path, "")
		assert.Equal(t, http.StatusNotFound, status)
	}
}

func TestATemplateCanBeInsertedAndIsReadBackAsItWas(t *testing.T) {
	w := newWorld(t, Options{})
	body := `{"name":"t","properties":{"machineType":"a3-highgpu-8g",` + bootable + `,"scheduling":{"provisioningModel":"FLEX_START","maxRunDuration":{"seconds":"7200"}}}}`
	for _, at := range []string{"global/instanceTemplates", "regions/us-central1/instanceTemplates"} {
		w.post(at, body)
		status, got := w.ask(http.MethodGet, at+"/t", "")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, got, `"maxRunDuration":{"seconds":"7200"}`)
		status, got = w.ask(http.MethodPost, at, body)
		assert.Equal(t, http.StatusConflict, status, got)
	}
	status, got := w.ask(http.MethodPost, "global/instanceTemplates", `{"name":"u","properties":{}}`)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, got, "machineType")
}

func TestAPolicyIsInsertedOnceAndOfOneKind(t *testing.T) {
	const at = "regions/us-central1/resourcePolicies"
	w := newWorld(t, Options{})
	w.post(at, `{"name":"compact","groupPlacementPolicy":{"collocation":"COLLOCATED","vmCount":2}}`)
	_, body := w.ask(http.MethodGet, at+"/compact", "")
	assert.Contains(t, body, `"status":"READY"`)

	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"a name in use":        {`{"name":"compact","groupPlacementPolicy":{"collocation":"COLLOCATED"}}`, 409, "already exists"},
		"no kind":              {`{"name":"p"}`, 400, "groupPlacementPolicy"},
		"two kinds":            {`{"name":"p","groupPlacementPolicy":{},"workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`, 400, "one kind"},
		"a collocation":        {`{"name":"p","groupPlacementPolicy":{"collocation":"NEAR"}}`, 400, "NEAR"},
		"no type of workload":  {`{"name":"p","workloadPolicy":{"maxTopologyDistance":"BLOCK"}}`, 400, "workloadPolicy.type"},
		"a type of workload":   {`{"name":"p","workloadPolicy":{"type":"FAST"}}`, 400, "FAST"},
		"a topology's measure": {`{"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT","maxTopologyDistance":"MILE"}}`, 400, "MILE"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := w.ask(http.MethodPost, at, c.body)
			assert.Equal(t, c.status, status)
			assert.Contains(t, body, c.says)
		})
	}
}
