//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestAJobWhoseNodesCannotComeByFlexStartIsHeldWithTheMendAndNothingIsMade(t *testing.T) {
	templates := map[string]func(*compute.InstanceProperties){
		"standard": func(p *compute.InstanceProperties) { p.Scheduling.ProvisioningModel = "STANDARD" },
		"spot":     func(p *compute.InstanceProperties) { p.Scheduling.ProvisioningModel = "SPOT" },
		"stop":     func(p *compute.InstanceProperties) { p.Scheduling.InstanceTerminationAction = "STOP" },
		"reserved": func(p *compute.InstanceProperties) {
			p.ReservationAffinity = &compute.ReservationAffinity{ConsumeReservationType: "ANY_RESERVATION"}
		},
	}
	mends := map[string]string{
		"standard": `instanceTemplates/standard .*provisioningModel.* with FLEX_START`,
		"spot":     `instanceTemplates/spot .*provisioningModel.* with FLEX_START`,
		"stop":     `instanceTemplates/stop .*instanceTerminationAction.* with DELETE`,
		"reserved": `instanceTemplates/reserved .*consumeReservationType.* with NO_RESERVATION`,
		"apart":    `nodeset apart.*enable_placement.* g2-standard-4; set it to false`,
	}
	sets := []lab.NodeSet{{Name: "apart", Machine: "g2-standard-4", Size: 2, Keys: []string{"enable_placement: true"}, FlexKeys: "use_job_duration: true"}}
	for name := range templates {
		sets = append(sets, lab.NodeSet{Name: name, Size: 2, FlexKeys: "use_job_duration: true"})
	}
	l := cluster(t, lab.Options{NodeSets: sets})
	for name, spoil := range templates {
		template := fakegce.FlexTemplate(name, "g2-standard-4")
		spoil(template.Properties)
		create(t, l, "instanceTemplates", template)
	}
	require.NoError(t, l.StartDaemon(context.Background()))
	jobs := map[string]string{}
	for set := range mends {
		jobs[set] = submit(t, l, "-p", set, "-N1", "--time=15")
	}
	for set, mend := range mends {
		awaitJob(t, l, time.Minute, jobs[set], "Reason", "JobHeldAdmin")
		assert.Regexp(t, mend, jobField(t, l, jobs[set], "AdminComment"))
		cancel(t, l, jobs[set])
	}
	awaitNothingLeft(t, l)
	assert.Empty(t, calls(t, l, "regionInstanceGroupManagers.insert", "resourcePolicies.insert", "regionInstances.bulkInsert"))
}
