//go:build e2e

package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"slurmflex/test/lab"
)

// U2
func TestArrayBehindAFullNodesetExpectsAnEarlyStart(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Configuring: true, NodeSets: []lab.NodeSet{{
		Name: "few", Machine: "g2-standard-4", Size: 2, FlexKeys: "max_run_duration: 3600",
	}}})
	busy := submitScript(t, l, "sleep 900", "-p", "few", "-N2", "--time=30")
	awaitRunning(t, l, busy)
	awaitShown(t, time.Minute, "a reservation that ends soon after the lease", func() (string, bool) {
		all := ask(t, l, "scontrol", "show", "reservation", "-o")
		return all, regexp.MustCompile(`ReservationName=slurmflex-alpha-\d+ .*Duration=00:10:00 .*Nodes=alpha-few-\[0-1\] `).MatchString(all)
	})
	array := submit(t, l, "-p", "few", "-N1", "--time=50", "--array=0-7") // beyond the end of the lease
	awaitShown(t, 90*time.Second, "Slurm to expect a start", func() (string, bool) {
		shown := ask(t, l, "squeue", "-h", "--start", "-j", array, "-o", "%S %r")
		start, err := time.ParseInLocation("2006-01-02T15:04:05", strings.Split(shown, " ")[0], time.Local)
		return shown, err == nil && time.Until(start) < 6*time.Hour
	})
	awaitWhy(t, l, array, "cause needs 1 node; 0 of nodeset few are free, 2 taken by job.*the first of these jobs ends by ")
	cancelForGood(t, l, array, busy)
}
