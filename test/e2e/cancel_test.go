//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestUnneededRequestIsCancelled(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Configuring: true})
	shut(t, l)
	for name, change := range map[string]func(*testing.T, *lab.Lab, string){
		"when it is requeued": func(t *testing.T, l *lab.Lab, id string) {
			run(t, l, "scontrol", "requeue", id)
			awaitJob(t, l, time.Minute, id, "Restarts", "1")
			awaitOnlyWanted(t, l, id) // before 24.11 Slurm allocates the same nodes again immediately
		},
		"when it is requeued and held": func(t *testing.T, l *lab.Lab, id string) {
			run(t, l, "scontrol", "requeuehold", id)
			awaitNothingLeft(t, l)
			assertPending(t, l, id)
		},
		"when it has shrunk": func(t *testing.T, l *lab.Lab, id string) {
			update(t, l, "jobid="+id, "numnodes=1")
			awaitJob(t, l, time.Minute, id, "NumNodes", "1")
			awaitOnlyWanted(t, l, id)
			await(t, time.Minute, "the other nodes to be powered down", func() bool { return len(notDown(t, l)) == 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := submit(t, l, "-p", "train", "-N3", "--time=15")
			awaitRequestState(t, l, "alpha-a3-job-"+id, "a1", "ACCEPTED")
			change(t, l, id)
			cancelForGood(t, l, id)
		})
	}
}

// awaitOnlyWanted waits until the requested nodes are those allocated to the job: none while it is
// pending.
func awaitOnlyWanted(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitShown(t, time.Minute, "requests for the nodes of job "+id+" alone", func() (string, bool) {
		var wanted, asked []string
		if jobField(t, l, id, "JobState") == "CONFIGURING" {
			names, err := slurm.Expand(jobField(t, l, id, "NodeList"))
			require.NoError(t, err)
			wanted = names
		}
		for _, g := range state(t, l).Groups {
			for _, r := range g.Requests {
				if isLive(r) {
					asked = append(asked, r.Instances...)
				}
			}
		}
		slices.Sort(asked)
		return fmt.Sprintf("wanted %v, asked for %v", wanted, asked), slices.Equal(wanted, asked)
	})
}

func TestForeignGroupsAreLeftAlone(t *testing.T) {
	l := withDaemon(t)
	addStrangers(t, l)
	labelled := fakegce.FlexTemplate("gcp", "a3-highgpu-8g")
	labelled.Properties.Labels = map[string]string{"slurm_cluster_name": "alpha"}
	const gcp = "alpha-a3-job-7-1a2b3c4d"
	create(t, l, "instanceTemplates", labelled)
	createGroup(t, l, gcp, "", labelled.Name)
	awaitCompleted(t, l, submit(t, l, "-p", "train", "-N2", "--time=15"))
	awaitStrangersAlone(t, l, gcp)
	slurmflex(t, l, "gc")
	awaitPasses(t, l, 2)
	awaitStrangersAlone(t, l, gcp)
	slurmflex(t, l, "gc", "--adopt-slurm-gcp")
	awaitStrangersAlone(t, l)
}

// The groups that are not ours: of another cluster, with a machine, and without a stamp.
const beta, bare = "alpha-b-job-7", "alpha-a3-job-999"

// addStrangers creates groups that are not ours.
func addStrangers(t *testing.T, l *lab.Lab) {
	t.Helper()
	mute(t, l, "alpha-b-.*")
	createGroup(t, l, beta, `{"slurmflex":1,"cluster":"alpha-b","nodeset":"a3","job":7}`, "g2")
	createGroup(t, l, bare, "", "g2")
	create(t, l, "instanceGroupManagers/"+beta+"/resizeRequests", &compute.InstanceGroupManagerResizeRequest{
		Name: "a1", Instances: []*compute.PerInstanceConfig{{Name: "alpha-b-a3-0"}}, RequestedRunDuration: &compute.Duration{Seconds: 600},
	})
	await(t, 2*time.Minute, "its machine", func() bool { return readFile(l.Log("mute.log")) == "alpha-b-a3-0\n" })
}

// awaitStrangersAlone waits until the cloud has nothing but these and the strangers' groups.
func awaitStrangersAlone(t *testing.T, l *lab.Lab, more ...string) {
	t.Helper()
	awaitShown(t, 90*time.Second, "these groups alone", func() (string, bool) {
		s := state(t, l)
		var there []string
		for _, g := range s.Groups {
			there = append(there, g.Name)
		}
		return fmt.Sprint(there), slices.Equal(append(more, bare, beta), there) && len(s.Instances) == 1
	})
	_, left := state(t, l).Instance("alpha-b-a3-0")
	assert.True(t, left)
}
