package metrics

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/config"
	"slurmflex/flex/plan/demand"
	"slurmflex/test/must"
)

// names returns the names of all possible metrics.
func names(t *testing.T) map[string]bool {
	t.Helper()
	w := busy(t)
	w.Config.Options.Limits = []config.Limit{{Name: "bio"}}
	w.plan.Limits = []demand.LimitUse{{Limit: config.Limit{GPUHours: 1}}}
	w.Called("instances.list", 200, 0)
	w.Ran("scontrol update", 0, nil)
	w.pass(0)
	families, err := w.registry.Gather()
	require.NoError(t, err)
	all := map[string]bool{}
	for _, f := range families {
		assert.NotEmpty(t, f.GetHelp(), "what %s means", f.GetName())
		all[f.GetName()] = true
		if f.GetType().String() == "HISTOGRAM" {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				all[f.GetName()+part] = true
			}
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	return must.Text("../../" + path)
}

func TestPageNamesOnlyMetricsThatExist(t *testing.T) {
	all := names(t)
	for _, name := range regexp.MustCompile("`(slurmflex_\\w+)`").FindAllStringSubmatch(read(t, "docs/reference.md"), -1) {
		assert.True(t, all[name[1]], name[1])
	}
}

// known checks that all metrics in an expression exist, and that it has at least one.
func known(t *testing.T, names map[string]bool, expr string) {
	t.Helper()
	used := regexp.MustCompile(`slurmflex_\w+`).FindAllString(expr, -1)
	assert.NotEmpty(t, used, expr)
	for _, name := range used {
		assert.True(t, names[name], "%s does not exist: %s", name, expr)
	}
}

func TestAlertsUseExistingMetricsAndLinkToTheirFix(t *testing.T) {
	names := names(t)
	page, fixes := read(t, "docs/reference.md"), sections(read(t, "docs/troubleshooting.md"))
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "scripts/prometheus/slurmflex.rules.yaml")), &file))
	require.Len(t, file.Groups, 1)
	var alerts []string
	for _, rule := range file.Groups[0].Rules {
		alerts = append(alerts, rule.Alert)
		known(t, names, rule.Expr)
		anchor, served := strings.CutPrefix(rule.Annotations["runbook_url"], "http://localhost:8918/troubleshooting#")
		assert.True(t, served, rule.Alert)
		assert.Regexp(t, `\*Alerts?: [^*]*\b`+rule.Alert+`\b[^*]*\*`, fixes[anchor], "the section that %s leads to", rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["description"], rule.Alert)
		assert.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
	}
	for _, named := range regexp.MustCompile(`\bSlurmflex[A-Z]\w+`).FindAllString(page+strings.Join(slices.Collect(maps.Values(fixes)), ""), -1) {
		assert.Contains(t, alerts, named, "the pages name it")
	}
}

// sections returns the sections of a page by the anchors of their headings.
func sections(page string) map[string]string {
	all := make(map[string]string)
	for _, section := range strings.Split(page, "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		anchor := strings.ReplaceAll(strings.ToLower(heading), " ", "-")
		all[regexp.MustCompile(`[^\w-]`).ReplaceAllString(anchor, "")] = text
	}
	return all
}

func TestEachAlertHasATestForFiringAndForSilence(t *testing.T) {
	rules, tests := read(t, "scripts/prometheus/slurmflex.rules.yaml"), read(t, "scripts/prometheus/slurmflex.rules.test.yaml")
	for _, alert := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		assert.Regexp(t, `\{alertname: `+alert[1]+`, eval_time: \w+, exp_alerts: \[\]\}`, tests)
		assert.Regexp(t, `alertname: `+alert[1]+`\n\s+eval_time: \w+\n\s+exp_alerts:\n\s+- exp_labels`, tests)
	}
}

func TestDashboardUsesExistingMetrics(t *testing.T) {
	names := names(t)
	var board struct {
		Templating struct {
			List []struct{ Type, Definition string }
		}
		Panels []struct {
			Type, Title, Description string
			Targets                  []struct{ Expr string }
		}
	}
	text := read(t, "scripts/grafana/slurmflex.json")
	require.NoError(t, json.Unmarshal([]byte(text), &board))
	require.NotEmpty(t, board.Panels)
	for _, p := range board.Panels {
		if p.Type == "row" {
			continue
		}
		assert.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			known(t, names, target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			known(t, names, v.Definition)
		}
	}
	shown := regexp.MustCompile(`slurmflex_\w+`).FindAllString(text, -1)
	for name := range names {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		onPanel := slices.ContainsFunc(shown, func(s string) bool { return strings.HasPrefix(s, base) })
		assert.True(t, onPanel || base == "slurmflex_pass_interval_seconds" || base == "slurmflex_last_failure_timestamp_seconds",
			"%s is not shown", name)
	}
}
