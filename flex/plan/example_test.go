package plan_test

import (
	"fmt"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// A job has been allocated two nodes without machines. The plan creates a group for the job and one
// request for both machines. It also marks the nodes, so that Slurm powers them down once the job
// has ended.
func ExampleCompute() {
	cfg, err := config.Parse("config.yaml", []byte(`
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_nodeset: [a3], enable_job_exclusive: true}
nodeset:
  a3:
    node_count_dynamic_max: 4
    instance_template: projects/demo/global/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {use_job_duration: true}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	nodes := []string{"alpha-a3-0", "alpha-a3-1"}
	waiting := slurm.ParseState("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")
	snap := scene.Snapshot{
		Started: now, Begun: now, Now: now,
		Slurm: scene.Slurm{
			Nodes: []slurm.Node{{Name: nodes[0], State: waiting}, {Name: nodes[1], State: waiting}},
			Jobs: []slurm.Job{{
				ID: 812, ArrayID: 812, Partition: "train", State: slurm.JobConfiguring, Nodes: nodes,
				Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: 4 * time.Hour},
			}},
		},
		Compute: scene.Compute{
			Templates: map[string]scene.Template{
				"projects/demo/global/instanceTemplates/a3": {Template: mig.Template{
					MachineType: "a3-megagpu-8g", Model: "FLEX_START", MaxRun: mig.MaxDuration, Termination: "DELETE",
					Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
				}},
			},
		},
	}
	for _, action := range plan.Compute(scene.Of(cfg, snap)).Actions {
		fmt.Println(action)
	}
	// Output:
	// create group alpha-a3-job-812 in us-central1
	// request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-812/a1 for 04:10:00
	// set nodes alpha-a3-[0-1] power_down
}
