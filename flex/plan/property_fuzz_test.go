package plan_test

import (
	"strings"
	"testing"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Others may write where we read: a node's comment, reason and Extra, a job's
// AdminComment, a reservation's name, a request's name and its error. No text
// makes a plan that breaks a rule.
func FuzzWhatOthersWrite(f *testing.F) {
	cfg := houseConfig(f)
	cfg.NodeSets[0].Flex.BootFailures = 2
	f.Add(waits("2026-11-21T11:59:00Z"), "ResumeTimeout reached", bootsFailed(1, noon), memo.Warning(noon, "all is lost"), "slurmflex-alpha-1795266000", "a1", "STOCKOUT: none")
	f.Add(waits("noon"), "", bootsFailed(9223372036854775807, noon), memo.OwnComment, "slurmflex-alpha-9223372036854775807", "a9223372036854775807", "")
	f.Add("slurmflex: waits in ", "slurmflex: ", bootsFailed(-1, time.Time{}), memo.OwnComment+"told : ", "slurmflex-alpha--1", "a-1", "no\nlines")
	f.Fuzz(func(t *testing.T, comment, reason, extra, told, reservation, request, message string) {
		if strings.Contains(comment+reason+extra+told+reservation+message, "\n") {
			t.Skip("what Slurm and Compute tell of comes in lines")
		}
		const node, job = "alpha-a3-0", 1
		for _, state := range usual {
			for _, end := range []mig.RequestState{mig.Accepted, mig.Failed, mig.Cancelled} {
				snap := lone(slurm.ParseState(state), []string{"dynamic", "CONFIGURING", "none", string(end)})
				snap.Nodes[0].Comment, snap.Nodes[0].Reason, snap.Nodes[0].Extra = comment, reason, extra
				snap.Told, snap.Requeues[job] = map[uint32]string{job: told}, len(told)%2 == 0
				snap.Reservations = []slurm.Reservation{{Name: reservation, Nodes: []string{node}, Start: noon}}
				r := &snap.Groups[0].Requests[0]
				r.Name, r.Message, r.Created = request, message, noon.Add(-time.Hour)
				if wrong := broken(sightOf(cfg, snap), plan.Compute(cfg, snap)); len(wrong) > 0 {
					t.Fatalf("%s, request %s: %s", state, end, strings.Join(wrong, "; "))
				}
			}
		}
	})
}
