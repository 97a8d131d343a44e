package history

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// killedDir is the environment variable with the history's folder in the process that is killed.
const killedDir = "SLURMFLEX_TEST_KILLED"

// K11: the process is killed soon after it has seen a machine and its job, before it has told this to
// anybody. When another process looks, both are gone.
func TestKilledProcessLosesNothingSeenTwoSecondsAgo(t *testing.T) {
	if dir := os.Getenv(killedDir); dir != "" {
		seeAndHang(t, dir)
	}
	w := newWorld(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), killedDir+"="+w.dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1)) // it has seen them
	assert.NoError(t, err)
	time.Sleep(2 * time.Second) // the limit that is tested
	assert.NoError(t, cmd.Process.Kill())
	assert.Error(t, cmd.Wait())

	w.restart()
	w.later(60)
	e := w.ended()
	assert.Equal(t, node, e.Node)
	assert.Equal(t, uint32(812), e.Job)
	require.Len(t, e.Uses, 1)
	assert.Equal(t, uint32(813), e.Uses[0].Job)
	assert.Len(t, w.read(Wait), 2, "of the machine, and of the request that was withdrawn")
	story, err := Story(w.dir, "alpha", "813")
	assert.NoError(t, err)
	assert.NotNil(t, story)
}

// seeAndHang sees a machine in use, and a request, ten seconds after a look that saw neither. It
// prints a byte and does not return.
func seeAndHang(t *testing.T, dir string) {
	w := newWorld(t)
	hang := make(chan struct{})
	w.recorder = &Recorder{Dir: dir, Cluster: "alpha", Log: w.log, Notify: func(News) { <-hang }}
	w.later(1)
	w.Group("alpha-a3-job-814", mig.Stamp{NodeSet: "a3", Job: 814}, request("a1", mig.Accepted, w.Snap.Now, "alpha-a3-2"))
	w.asked(mig.Succeeded, w.ago(time.Hour), node)
	w.Nodes(node, busy)
	w.Machine(node, group).Created = w.Snap.Now
	w.running(813, w.Snap.Now)
	w.Snap.Now = w.Snap.Now.Add(10 * time.Second)
	w.recorder.saw(w.Scene(), w.plan)
	_, err := os.Stdout.WriteString(".")
	require.NoError(t, err)
	<-hang
}
