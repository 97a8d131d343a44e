package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
)

// told is a world in some lines, for the reader of a rule that was broken.
func told(w *world) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	s := w.snapshot()
	for _, n := range s.Nodes {
		line("node %s %s%s%s%s%s", n.Name, n.State, quoted(" reason", n.Reason), quoted(" comment", n.Comment),
			quoted(" extra", n.Extra), since(" busy until", s.Now, n.LastBusyTime))
	}
	for _, j := range s.Jobs {
		line("job %d %s in %s on %s, %s, priority %d%s", j.ID, j.State, j.Partition, slurm.Fold(j.Nodes), j.Limit, j.Priority, since(", start", s.Now, j.Start))
	}
	for _, g := range s.Groups {
		line("group %s/%s %s counts %d, creates %d", g.Region, g.Name, g.Stamp, g.TargetSize, g.Creating)
		for _, r := range g.Requests {
			line("  request %s %s %s for %s%s %s%s", r.Name, r.State, slurm.Fold(r.Instances), r.Duration, since(", made", s.Now, r.Created), r.Cause, quoted(" ", r.Message))
		}
	}
	for _, in := range s.Instances {
		line("instance %s/%s %s by group %q%s%s, flex-start %t", in.Zone, in.Name, in.Status, in.Group,
			since(", made", s.Now, in.Created), since(", ends", s.Now, in.Terminates), in.FlexStart)
		if in.Stamp.Cluster != "" {
			line("  labels %s", in.Stamp)
		}
	}
	for _, p := range s.Policies {
		line("policy %s/%s %s", p.Region, p.Name, p.Stamp)
	}
	for _, r := range s.Reservations {
		line("reservation %s of %s", r.Name, slurm.Fold(r.Nodes))
	}
	for _, link := range slices.Sorted(maps.Keys(s.Templates)) {
		t := s.Templates[link]
		line("template %s %s %s, error %v", link, t.MachineType, t.Model, t.Err)
	}
	line("told %v, requeues %v, unseen %v, refused %v", s.Told, s.Requeues, s.Unseen, s.Refused)
	line("ResumeTimeout %s, max_active_requests %d, max_deletions_per_round %d",
		s.ResumeTimeout, w.cfg.Options.MaxActiveRequests, w.cfg.Options.MaxDeletions)
	for _, set := range w.flexSets() {
		line("nodeset %s %+v", set.Name, *set.Flex)
	}
	return b.String()
}

func quoted(what, text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s %q", what, text)
}

// since says how long before now something was, or after it.
func since(what string, now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s %s ago", what, now.Sub(at))
}
