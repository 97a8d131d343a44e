package rules

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// nameTaken: nothing is requested while an instance that is not ours has the name of one of the
// nodes.
func nameTaken(w *demand.Wanted, c *demand.Claim) Ruling {
	v := Ruling{Why: stranger(w.Scene, c)}
	if v.Why != "" {
		v.Do = Waits
		v.Problems.Add("name-taken", c.Group, "%s: %s", c.Group, v.Why)
	}
	return v
}

// stranger describes an instance that is not ours and has the name of one of the claim's nodes;
// empty if no such instance exists. While it exists, slurmflex requests nothing: slurmflex must not
// delete the instance, and it may still register with Slurm.
func stranger(s *scene.Scene, c *demand.Claim) string {
	in, found := firstStranger(s, c)
	what := "slurmflex did not create it"
	switch {
	case !found:
		return ""
	case isNewers(s, in):
		return fmt.Sprintf("instance %s in %s is left alone because a newer slurmflex created it; run that version, or delete the instance", in.Name, in.Zone)
	case strings.HasPrefix(in.Group, s.Config.Cluster+"-"):
		what = "its group " + in.Group + " is not listed as one of this cluster"
	}
	return fmt.Sprintf("instance %s in %s has the name of a node that waits, and %s; unless it joins Slurm by itself, delete it", in.Name, in.Zone, what)
}

// firstStranger returns the first instance of this kind; see stranger.
func firstStranger(s *scene.Scene, c *demand.Claim) (in scene.Machine, found bool) {
	for _, name := range c.Nodes {
		for _, in := range s.Named(name).Machines {
			if !in.Ours && !s.Named(name).MayShow && !slices.ContainsFunc(s.Named(name).Requests, func(r scene.Live) bool { return s.IsNew(in, r) }) {
				return in, true
			}
		}
	}
	return scene.Machine{}, false
}

// isNewers reports whether a group that a newer slurmflex created for this cluster created the
// instance.
func isNewers(s *scene.Scene, in scene.Machine) bool {
	return slices.ContainsFunc(s.Seen.Groups, func(g mig.Group) bool {
		return g.Name == in.Group && g.Region == in.Region && g.Stamp.Cluster == s.Config.Cluster && g.Stamp.Newer()
	})
}
