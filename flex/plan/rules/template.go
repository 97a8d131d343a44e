package rules

import (
	"errors"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/mig"
)

// badTemplate: nothing is created from an unread instance template, or from one that cannot create
// flex-start nodes. Its machines might be billed in another way.
func badTemplate(w *demand.Wanted, c *demand.Claim) Ruling {
	t, read := w.Seen.Templates[c.Set.Template]
	name := "instance template " + c.Set.Template
	switch {
	case !read:
		return unreadFor(c, "template", errors.New(name+" has not been read yet"))
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
	v := Ruling{Do: Waits, Quiet: true, Why: err.Error()}
	v.Problems.Add(key, c.Group, "%s waits: %v", c.Group, err)
	return v
}
