//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// U2
func TestArrayBehindAFullNodesetExpectsAnEarlyStart(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Configuring: true, NodeSets: []lab.NodeSet{{
		Name: "few", Machine: "g2-standard-4", Size: 2, FlexKeys: "max_run_duration: 3600",
	}}})
	busy := submitScript(t, l, "sleep 900", "-p", "few", "-N2", "--time=30")
	awaitJob(t, l, 90*time.Second, busy, "JobState", "RUNNING")
	name := ""
	endsSoon := func() (string, bool) {
		all := ask(t, l, "scontrol", "show", "reservation", "-o")
		found := regexp.MustCompile(`ReservationName=(slurmflex-alpha-\d+) .*Duration=00:10:00 .*Nodes=alpha-few-\[0-1\] `).FindStringSubmatch(all)
		if found != nil {
			name = found[1]
		}
		return all, found != nil
	}
	awaitShown(t, time.Minute, "a reservation that ends soon after the lease", endsSoon)

	array := submit(t, l, "-p", "few", "-N1", "--time=50", "--array=0-7") // beyond the end of the lease
	awaitShown(t, 90*time.Second, "Slurm to expect a start", func() (string, bool) {
		shown := ask(t, l, "squeue", "-h", "--start", "-j", array, "-o", "%S %r")
		start, err := time.ParseInLocation("2006-01-02T15:04:05", strings.Split(shown, " ")[0], time.Local)
		return shown, err == nil && time.Until(start) < 6*time.Hour
	})
	awaitShown(t, time.Minute, "why to name what it waits for", func() (string, bool) {
		out, _ := l.Flex(context.Background(), "why", array)
		out = strings.Join(strings.Fields(out), " ")
		return out, strings.Contains(out, "cause needs 1 node; 0 of nodeset few are free, 2 taken by job") && strings.Contains(out, "the first of these jobs ends by ")
	})
	out, err := l.Flex(context.Background(), "status")
	require.NoError(t, err)
	for _, day := range regexp.MustCompile(` on ([A-Z][a-z]{2} \d+(, \d{4})?)`).FindAllStringSubmatch(out, -1) {
		tomorrow := time.Now().Add(6 * time.Hour).Format("Jan 2") // the test may run before midnight
		assert.Equal(t, tomorrow, day[1], "a start on another day")
	}

	update(t, l, "reservationname="+name, "duration=infinite") // as the previous version created them
	awaitShown(t, 90*time.Second, "a pass to shorten a reservation of a year", endsSoon)
	cancelForGood(t, l, array, busy)
}
