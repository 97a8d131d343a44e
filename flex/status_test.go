package flex

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

var update = flag.Bool("update", false, "write testdata/status.golden anew")

// seenAtNoon has one group of each kind.
func seenAtNoon() plan.Snapshot {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	snap := plan.Snapshot{Now: noon, Unseen: map[string]error{
		europe: errors.New("list groups of europe-west4: 503 backendError: try again"),
	}}
	group := func(name string, requests ...mig.Request) {
		snap.Groups = append(snap.Groups, mig.Group{Name: name, Region: us, Requests: requests})
	}
	request := func(name string, state mig.RequestState, list, message string) mig.Request {
		return mig.Request{
			Name: name, State: state, Instances: names(list), Duration: 24 * time.Hour,
			Created: noon.Add(-90 * time.Minute), Message: message,
		}
	}
	instance := func(name, group, status string, left time.Duration) {
		in := mig.Instance{Name: name, Zone: "us-central1-a", Region: us, Group: group, Status: status}
		if left > 0 {
			in.Terminates = noon.Add(left)
		}
		snap.Instances = append(snap.Instances, in)
	}
	nodes := func(list, state string) {
		for _, name := range names(list) {
			snap.Nodes = append(snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState(state)})
		}
	}
	job := func(id uint32, list string) { snap.Jobs = append(snap.Jobs, slurm.Job{ID: id, Nodes: names(list)}) }

	group("alpha-a3-job-814", request("a1", mig.Failed, "alpha-a3-7", "RESOURCE_POOL_EXHAUSTED: none left"))
	group("alpha-a3-job-813", request("a1", mig.Succeeded, "alpha-a3-[2-4]", ""))
	instance("alpha-a3-2", "alpha-a3-job-813", "RUNNING", 3*time.Hour)
	instance("alpha-a3-3", "alpha-a3-job-813", "RUNNING", 2*time.Hour)
	instance("alpha-a3-4", "alpha-a3-job-813", "STAGING", 0)
	group("alpha-a3-job-812",
		request("a1", mig.Failed, "alpha-a3-[0-1]", "LIMIT_EXCEEDED: not in time"),
		request("a2", mig.Accepted, "alpha-a3-[0-1]", "ZONE_RESOURCE_POOL_EXHAUSTED: not enough resources"))
	group("alpha-a3-job-815")
	job(812, "alpha-a3-[0-1]")
	job(813, "alpha-a3-[2-4]")
	job(820, "alpha-a3-2")
	nodes("alpha-a3-[0-1],alpha-a3-4", "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")
	nodes("alpha-a3-[2-3]", "ALLOCATED+CLOUD+POWER_DOWN")
	nodes("alpha-a3-[5-7]", "IDLE+CLOUD+POWERED_DOWN")
	return snap
}

func TestStatusShowsWhatWasSeen(t *testing.T) {
	local := time.Local
	time.Local = time.UTC // the end of a lease is shown in local time
	defer func() { time.Local = local }()

	var got bytes.Buffer
	require.NoError(t, WriteStatus(&got, alphaConfig(t), seenAtNoon()))
	golden := filepath.Join("testdata", "status.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

func TestStatusThatCannotBeWrittenIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	assert.ErrorContains(t, WriteStatus(full, alphaConfig(t), seenAtNoon()), "no space left on device")
	assert.Error(t, WriteStatus(full, alphaConfig(t), plan.Snapshot{}))
}
