package fakegce_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	"slurmflex/test/fakegce"
)

// A resize request waits for capacity; once there is some, its machine boots. The caller is
// Google's own client, and only Advance moves the clock.
func Example() {
	clock := fakegce.NewManualClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	cloud := fakegce.New(fakegce.Options{Clock: clock, BootTime: time.Minute})
	cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 0)
	if err := request(cloud, "a3-0"); err != nil {
		fmt.Println(err)
		return
	}
	show(cloud)

	cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 1)
	cloud.Advance(fakegce.DefaultAttemptInterval)
	show(cloud)

	cloud.Advance(time.Minute)
	show(cloud)
	// Output:
	// train/a1 is ACCEPTED
	// train/a1 is ACCEPTED
	//   a3-0 in us-central1-a is PROVISIONING
	// train/a1 is SUCCEEDED
	//   a3-0 in us-central1-a is RUNNING
}

// request creates a group in us-central1-a and requests one machine in it.
func request(cloud *fakegce.Server, machine string) error {
	const project, region = "demo", "us-central1"
	template, err := cloud.AddTemplate(region, fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
	if err != nil {
		return err
	}
	api, err := compute.NewService(context.Background(), option.WithHTTPClient(&http.Client{Transport: cloud.Transport()}))
	if err != nil {
		return err
	}
	_, err = api.RegionInstanceGroupManagers.Insert(project, region, &compute.InstanceGroupManager{
		Name: "train", BaseInstanceName: "train",
		Versions: []*compute.InstanceGroupManagerVersion{{InstanceTemplate: template}},
		DistributionPolicy: &compute.DistributionPolicy{
			TargetShape: "ANY_SINGLE_ZONE",
			Zones:       []*compute.DistributionPolicyZoneConfiguration{{Zone: "projects/demo/zones/us-central1-a"}},
		},
		UpdatePolicy:            &compute.InstanceGroupManagerUpdatePolicy{Type: "OPPORTUNISTIC", InstanceRedistributionType: "NONE"},
		InstanceLifecyclePolicy: &compute.InstanceGroupManagerInstanceLifecyclePolicy{DefaultActionOnFailure: "DO_NOTHING"},
		ForceSendFields:         []string{"TargetSize"},
	}).Do()
	if err != nil {
		return err
	}
	_, err = api.RegionInstanceGroupManagerResizeRequests.Insert(project, region, "train", &compute.InstanceGroupManagerResizeRequest{
		Name: "a1", Instances: []*compute.PerInstanceConfig{{Name: machine}},
		RequestedRunDuration: &compute.Duration{Seconds: 3600},
	}).Do()
	return err
}

// show prints the requests and the machines in their present state.
func show(cloud *fakegce.Server) {
	state := cloud.State()
	for _, group := range state.Groups {
		for _, r := range group.Requests {
			fmt.Printf("%s/%s is %s\n", group.Name, r.Name, r.State)
		}
	}
	for _, m := range state.Instances {
		fmt.Printf("  %s in %s is %s\n", m.Name, m.Zone, m.Status)
	}
}
