package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/flex/view"
)

func TestDownStartsOnlyAfterTheClusterNameIsTyped(t *testing.T) {
	w := left(t)
	for _, c := range []struct {
		typed string
		exit  int
	}{{"beta", exitFailed}, {"alpha", exitDone}} {
		term := newTerminal(t, 24, 80)
		r := w.flex("down")
		r.Stdin = term.tty
		require.NoError(t, r.Start())
		_, err := term.keyboard.WriteString(c.typed + "\n")
		require.NoError(t, err)
		r.exits(c.exit)
		r.reports("down: 0 jobs to requeue, 0 jobs to cancel, 0 jobs to leave alone\nType the name of the cluster to take it down: ")
	}
	assert.Empty(t, w.machines())
	assert.Empty(t, w.cloud.State().Groups)
}

func TestDownReportsAsJSON(t *testing.T) {
	w := left(t)
	r := w.runs("down", "--yes", "--json")
	var done view.Takedown
	r.decodes(&done)
	assert.Equal(t, view.EnvelopeOf("down"), done.Envelope)
	var did []string
	for _, a := range done.Actions {
		did = append(did, a.What)
	}
	assert.Equal(t, []string{"delete instances alpha-a3-[0-1] of alpha-a3-job-812", "delete group alpha-a3-job-812"}, did)
	assert.Equal(t, "0 instances, 0 groups, 0 requests, 0 policies, 0 reservations", done.Left.String())
	assert.NotContains(t, r.stdout.String(), "null")
}

// down --drain waits for a job that runs for days. The admin gives up, and the partition is closed by then.
func TestInterruptedDownSaysHowToUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes("ALLOCATED+CLOUD", 0, 1)
	w.jobs("812 2:00:00 RUNNING alpha-a3-[0-1]")
	w.answer("scontrol", `case "$*" in
*partition) s=UP; if [ -e DIR/closed ]; then s=DOWN; echo >> DIR/looks; fi; echo "PartitionName=train Nodes=alpha-a3-[0-7] State=$s"; exit ;;
"update partitionname="*) touch DIR/closed; exit ;;
esac
`+knowing)
	r := w.flex("down", "--yes", "--drain")
	require.NoError(t, r.Start())
	require.Eventually(t, func() bool {
		looks, _ := os.ReadFile(w.path("looks"))
		return len(looks) > 2 // so one of them has ended
	}, time.Minute, 50*time.Millisecond)
	r.signal(unix.SIGINT)
	r.exits(exitFailed)
	r.reports("down: to undo: scontrol update partitionname=train state=up\n")
	r.reports("down interrupted")
}

func TestDownFailsAndNamesRemainingObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waiting()
	w.answer("squeue", strings.Replace(queue, "|CONFIGURING|1|1|", "|CONFIGURING|0|1|", 1))
	r := w.fails("down", "--yes")
	assert.Equal(t, "left: job 812 keeps alpha-a3-[0-1], because Slurm would not requeue it; --drain waits for it, --now cancels it\n"+
		"down: left behind: 0 instances, 0 groups, 0 requests, 0 policies, 0 reservations\n", r.stdout.String())
	assert.True(t, strings.HasSuffix(r.stderr.String(), "\nslurmflex: not all is down; once what is named is fixed, run it again\n"), r.stderr.String())
}
