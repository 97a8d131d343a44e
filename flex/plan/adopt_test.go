package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestWhatSlurmGCPHasLeft(t *testing.T) {
	left := func(name string, requests ...mig.Request) mig.Group {
		return mig.Group{Name: name, Region: "us-central1", Created: noon.Add(-time.Hour), Requests: requests}
	}
	accepted := request("initial-resize", mig.Accepted, "alpha-a3-0", time.Hour)
	for name, c := range map[string]struct {
		given   []func(*setting)
		foreign mig.Group
		want    []string
	}{
		"goes when it is empty": {
			foreign: left("alpha-a3-job-7-0a1b2c3d"), want: []string{"delete group alpha-a3-job-7-0a1b2c3d"},
		},
		"loses a request whose nodes are powered down": {
			given:   []func(*setting){nodes("alpha-a3-0", poweredDown)},
			foreign: left("alpha-a3-0a1b2c3d", accepted), want: []string{"cancel request alpha-a3-0a1b2c3d/initial-resize"},
		},
		"keeps a request for a node that powers up": {
			given:   []func(*setting){nodes("alpha-a3-0", poweringUp)},
			foreign: left("alpha-a3-0a1b2c3d", accepted),
		},
		"stays while it has an instance": {
			given: []func(*setting){
				nodes("alpha-a3-0", running), job(7, "train", "15:00", "RUNNING", "alpha-a3-0"),
				vms("alpha-a3-0", "alpha-a3-0a1b2c3d", "RUNNING"),
			},
			foreign: left("alpha-a3-0a1b2c3d"),
		},
		"loses the instances of nodes that Slurm has powered down": {
			given: []func(*setting){
				nodes("alpha-a3-[0-1]", poweredDown), vms("alpha-a3-[0-1]", "alpha-a3-0a1b2c3d", "RUNNING"),
				nodes("alpha-a3-2", poweringDown), vms("alpha-a3-2", "alpha-a3-0a1b2c3d", "RUNNING"),
				nodes("alpha-a3-3", poweredDown), vms("alpha-a3-3", "alpha-a3-0a1b2c3d", "STOPPING"),
				nodes("alpha-a3-4", running), vms("alpha-a3-4", "alpha-a3-0a1b2c3d", "RUNNING"),
				nodes("alpha-a3-5", poweredDown), vms("alpha-a3-5", "alpha-a3-precious", "RUNNING"),
			},
			foreign: left("alpha-a3-0a1b2c3d"), want: []string{"delete instances alpha-a3-[0-2] of alpha-a3-0a1b2c3d"},
		},
		"stays while a node in use could have its machine there unseen": {
			given:   []func(*setting){nodes("alpha-a3-0", running)},
			foreign: left("alpha-a3-0a1b2c3d", request("initial-resize", mig.Succeeded, "alpha-a3-0", time.Hour)),
		},
		"B6: stays while it is young": {
			foreign: mig.Group{Name: "alpha-a3-0a1b2c3d", Region: "us-central1", Created: noon.Add(-29 * time.Second)},
		},
		"B1: stays while it counts machines that do not show": {
			foreign: mig.Group{Name: "alpha-a3-0a1b2c3d", Region: "us-central1", Created: noon.Add(-time.Hour), TargetSize: 1},
		},
		"stays where its region could not be read": {
			given: []func(*setting){unseen("us-central1")}, foreign: left("alpha-a3-0a1b2c3d"),
		},
		"stays if it is of a nodeset that is not ours": {foreign: left("alpha-cpu-0a1b2c3d")},
		"stays if its name is another's":               {foreign: left("alpha-a3-precious")},
	} {
		t.Run(name, func(t *testing.T) {
			got := Plan{Actions: Adopt(alphaConfig(t), seen(c.given...), []mig.Group{c.foreign})}
			assert.Equal(t, c.want, actions(got))
		})
	}
}
