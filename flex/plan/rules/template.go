package rules

import (
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// badTemplate: nothing is created from an unread instance template, or from one that cannot create
// flex-start nodes. Its machines might be billed in another way.
func badTemplate(w *demand.Wanted, c *demand.Claim) Ruling {
	t, read := w.Seen.Templates[c.Set.Template]
	name := "instance template " + c.Set.Template
	switch {
	case !read:
		return Ruling{
			Do: Waits, Quiet: true, Why: name + " has not been read yet",
			Problems: []scene.Problem{scene.NewProblem("template", c.Group, "%s waits: %s has not been read", c.Group, name)},
		}
	case t.Err != nil:
		if cause := mig.CauseOf(t.Err); cause.NeedsAdmin() {
			trouble := mig.Trouble{Cause: cause, Message: t.Err.Error()}
			return giveUp(w, c, action.Hold, true, "template", trouble.Brief()).quoting(trouble).decided()
		}
		return unreadFor(c, "template", t.Err)
	case c.Set.Flex.UseBulkInsert: // the call sets whatever the template leaves open
		return Ruling{}
	}
	if wrong := t.Contradictions(); len(wrong) > 0 {
		return giveUp(w, c, action.Hold, true, "template", name+" cannot give flex-start nodes: "+strings.Join(wrong, "; ")).decided()
	}
	return Ruling{}
}

// unreadFor: the claim waits until something that it needs can be read.
func unreadFor(c *demand.Claim, key string, err error) Ruling {
	return Ruling{Do: Waits, Quiet: true, Why: err.Error(), Problems: []scene.Problem{scene.NewProblem(key, c.Group, "%s waits: %v", c.Group, err)}}
}
