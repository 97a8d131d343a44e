package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestAGroupThatTheConfigurationWouldMakeOtherwiseIsNotUsedAgain(t *testing.T) {
	const link = "projects/demo/global/instanceTemplates/a3"
	given := func(change func(*mig.Group), more ...func(*setting)) Snapshot {
		return seen(append(more, nodes("alpha-a3-0", poweringUp), job(7, "train", "15:00", configured, "alpha-a3-0"), started(7, time.Second),
			group("alpha-a3-job-7", forJob("a3", 7), failed("a1", "alpha-a3-0", mig.CauseConfig, time.Hour)),
			func(s *setting) {
				s.Groups[0].Template, s.Groups[0].Zones = "global/instanceTemplates/a3", []string{"us-central1-a"}
				change(&s.Groups[0])
				template := s.Templates[link]
				template.Link = link
				s.Templates[link] = template
			})...)
	}
	again := []string{"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 00:15:00"}
	replaced := []string{"create group alpha-a3-job-7-r1 in us-central1", "request 1 node (alpha-a3-0) in alpha-a3-job-7-r1/a1 for 00:15:00"}
	for name, c := range map[string]struct {
		change func(*mig.Group)
		want   []string
	}{
		"as it was":          {func(*mig.Group) {}, again},
		"another template":   {func(g *mig.Group) { g.Template += "-old" }, replaced},
		"other zones":        {func(g *mig.Group) { g.Zones = []string{"us-central1-a", "us-central1-b"} }, replaced},
		"placed, and is not": {func(g *mig.Group) { g.Policy = g.Name }, replaced},
		"while it has a request": {func(g *mig.Group) {
			g.Template += "-old"
			g.Requests = append(g.Requests, request("a2", mig.Accepted, "alpha-a3-0", 15*time.Minute))
		}, nil},
		"what nobody can say": {func(g *mig.Group) { g.Template, g.Zones = "", nil }, again},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, actions(Compute(alphaConfig(t), given(c.change)))) })
	}
}
