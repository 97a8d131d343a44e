package plan_test

import (
	"fmt"
	"strings"
)

// told describes a world in a few lines, for the reader of a broken rule.
func told(w *world) string {
	var b strings.Builder
	s := w.snapshot()
	write(&b, "node", s.Nodes)
	write(&b, "job", s.Jobs)
	write(&b, "group", s.Groups)
	write(&b, "instance", s.Instances)
	write(&b, "policy", s.Policies)
	write(&b, "reservation", s.Reservations)
	fmt.Fprintf(&b, "  templates %+v\n  told %v, requeues %v, unseen %v, refused %+v\n", s.Templates, s.Told, s.Requeues, s.Unseen, s.Refused)
	fmt.Fprintf(&b, "  now %s, ResumeTimeout %s, %+v\n", s.Now, s.ResumeTimeout, w.cfg.Options)
	for _, set := range w.flexSets() {
		fmt.Fprintf(&b, "  nodeset %s %+v\n", set.Name, *set.Flex)
	}
	return b.String()
}

func write[T any](b *strings.Builder, what string, all []T) {
	for _, one := range all {
		fmt.Fprintf(b, "  %s %+v\n", what, one)
	}
}
