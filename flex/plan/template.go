package plan

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/mig"
)

// templateFits reports whether the cohort's instance template can give
// flex-start nodes. Nothing is created from one that cannot, or that was not
// read: what it makes might be billed otherwise.
func (w *world) templateFits(c *cohort) bool {
	t, read := w.snap.Templates[c.set.Template]
	name := "instance template " + c.set.Template
	switch {
	case !read:
		c.pause = name + " has not been read yet"
		w.problem(c.group + " waits: " + name + " has not been read")
		return false
	case t.Err != nil:
		switch mig.CauseOf(t.Err) {
		case mig.CauseNotFound, mig.CausePermission, mig.CauseConfig:
			w.giveBack(c, Hold, true, t.Err.Error())
		default:
			c.pause = t.Err.Error()
			w.problem(fmt.Sprintf("%s waits: %v", c.group, t.Err))
		}
		return false
	}
	if c.set.Flex.UseBulkInsert {
		return true // the call itself says what the template leaves open
	}
	if wrong := t.Contradictions(); len(wrong) > 0 {
		w.giveBack(c, Hold, true, name+" cannot give flex-start nodes: "+strings.Join(wrong, "; "))
		return false
	}
	return true
}

// nameDoubles names the nodes that have several machines: a name is unique in a zone
// only, and all but one cost money for nothing.
func (w *world) nameDoubles() {
	for _, m := range w.members {
		var zones []string
		for _, in := range m.machines {
			if !in.Leaving() {
				zones = append(zones, in.Zone)
			}
		}
		if len(zones) > 1 {
			w.problem(fmt.Sprintf("node %s has a machine in each of the zones %s; see which one Slurm uses (scontrol getaddrs %[1]s) and delete the others",
				m.Name, strings.Join(zones, ", ")))
		}
	}
}

// checkInstances names the instances of ours that did not come by flex-start,
// whatever their template says: they are billed otherwise.
func (w *world) checkInstances() {
	var wrong []string
	for _, in := range w.machines {
		if w.ours(in) && !in.FlexStart && !in.Leaving() && in.Unread == "" {
			wrong = append(wrong, in.Name)
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		template := "its instance template"
		if set, _, ok := w.cfg.Find(name); ok {
			template = "instance template " + set.Template
		}
		w.problem(fmt.Sprintf("instance %s is not FLEX_START, and billed otherwise: correct %s and delete it", name, template))
	}
}
