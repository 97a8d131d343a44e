package config

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"slurmflex/test/must"
)

const configurePage = "../docs/configure.md"

// smallest is the smallest valid file. It has only the required keys.
const smallest = `
slurm_cluster_name: alpha
project: my-project
partitions: {train: {}}
nodeset:
  a3:
    instance_template: projects/my-project/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/my-project/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {}
  spot:
    instance_template: projects/my-project/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/my-project/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    capacity: spot
slurmflex: {delegate: {}, limits: {bio: {gpu_hours: 500, cost: 500}}, regions: {gke-us-central1: {endpoint: "http://127.0.0.1:8930"}}}
`

// sections are the mappings that have keys of slurmflex. top is the file itself.
var sections = []string{"top", "partitions.train", "nodeset.a3", "nodeset.a3.dws_flex", "nodeset.spot", "slurmflex", "slurmflex.delegate", "slurmflex.limits.bio", "slurmflex.regions.gke-us-central1"}

// structs have keys as fields.
var structs = []any{Config{}, Partition{}, NodeSet{}, Flex{}, Options{}, Delegate{}, Limit{}, Region{}}

// TestEveryFieldHasAKey checks that every field has a key. Without one it would be missing in
// config --explain and in config check --effective.
func TestEveryFieldHasAKey(t *testing.T) {
	for _, of := range structs {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if f.IsExported() && f.Tag.Get("key") == "" {
				t.Errorf("%T.%s lacks a key; write tags like those of the fields around it", of, f.Name)
			}
		}
	}
}

// explanationOf returns what config --explain says about a key. With capacity, the keys of dws_flex
// are in the nodeset.
func explanationOf(section, name string) (Explanation, bool) {
	at := pathOf(strings.Replace(section, "partitions.train", "partitions.NAME", 1), name)
	at = strings.NewReplacer("nodeset.a3.", "nodeset.NAME.", "nodeset.spot.", "nodeset.NAME.", "gke-us-central1", "NAME", "limits.bio", "limits.NAME").Replace(at)
	all, _ := Explain("")
	for _, path := range []string{at, strings.Replace(at, "NAME.", "NAME.dws_flex.", 1)} {
		if i := slices.IndexFunc(all, func(e Explanation) bool { return e.Path == path }); i >= 0 {
			return all[i], true
		}
	}
	return Explanation{}, false
}

func TestEveryKeyIsExplainedAsItIsRead(t *testing.T) {
	plain, err := Parse("plain", []byte(smallest))
	require.NoError(t, err)
	for _, section := range sections {
		for _, name := range slices.Sorted(maps.Keys(literals(t))) {
			if !isKnown(section, name) || name == "capacity" && section != "nodeset.spot" {
				continue
			}
			e, found := explanationOf(section, name)
			if assert.True(t, found && e.Doc != "", "%s of %s lacks the tag doc; for a key without a field, add a field _", name, section) {
				checkExample(t, plain, section, name, e.Default)
			}
		}
	}
}

func TestExplainFindsAKeyByThePathInAMessage(t *testing.T) {
	for name, want := range map[string]int{"keep_idle": 1, "dws_flex.keep_idle": 1, "nodeset.a3.dws_flex.keep_idle": 1, "delegate": 3, "slurmflex.delegate": 3} {
		found, err := Explain(name)
		require.NoError(t, err)
		assert.Len(t, found, want, name)
	}
	for name, says := range map[string]string{"keepidle": `unknown key "keepidle"; did you mean keep_idle?`, "p": `unknown key "p"; slurmflex config --explain lists all keys`} {
		_, err := Explain(name)
		assert.EqualError(t, err, says)
	}
}

// first are the keys that every site sets.
var first = []string{
	"slurm_cluster_name", "project", "partitions.NAME.partition_nodeset", "partitions.NAME.enable_job_exclusive",
	"nodeset.NAME.node_count_dynamic_max", "nodeset.NAME.instance_template", "nodeset.NAME.subnetwork", "nodeset.NAME.zone_policy_allow",
	"nodeset.NAME.dws_flex.use_job_duration", "nodeset.NAME.dws_flex.job_duration_margin",
}

// TestConfigurePage compares the page's table of first with the tags; UPDATE=1 writes it.
func TestConfigurePage(t *testing.T) {
	old := must.Text(configurePage)
	rows := "| key | meaning | default |\n|---|---|---|\n"
	for _, path := range first {
		found, err := Explain(path)
		require.NoError(t, err)
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", path, strings.ReplaceAll(found[0].Doc, " A change needs a restart of the daemon.", ""), found[0].Default)
	}
	text := regexp.MustCompile(`(?m)^<!-- keys -->\n((?:.+\n)+)`).ReplaceAllLiteralString(old, "<!-- keys -->\n"+rows)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(configurePage, []byte(text), 0o644))
	}
	if text != old || !strings.Contains(text, rows) {
		t.Error("UPDATE=1 go test ./config -run TestConfigurePage updates the table below <!-- keys --> from the tags")
	}
}

// examples are values for keys, by section. They differ from the default.
var examples = map[string]map[string]string{
	"top": {
		"slurm_cluster_name":   `alpha`,
		"project":              `my-project`,
		"google_app_cred_path": `/etc/slurmflex/key.json`,
		"slurm_bin_dir":        `/usr/local/bin`,
	},
	"partitions.train": {
		"partition_nodeset":    `[a3]`,
		"enable_job_exclusive": `true`,
		"partition_conf":       `{MaxTime: 2-0}`,
	},
	"nodeset.a3": {
		"node_count_dynamic_max": `64`,
		"instance_template":      `projects/my-project/global/instanceTemplates/a3`,
		"subnetwork":             `projects/my-project/regions/us-central1/subnetworks/default`,
		"zone_policy_allow":      `[us-central1-a]`,
		"dws_flex":               `{}`,
		"enable_placement":       `true`,
		"enable_spot_vm":         `false`,
		"node_conf":              `{CPUs: 208, RealMemory: 1800000}`,
		"node_count_static":      `2`,
		"placement_max_distance": `2`,
		"preemptible":            `false`,
		"spot":                   `false`,
		"zone_policy_deny":       `[us-central1-f]`,
		"zone_target_shape":      `ANY_SINGLE_ZONE`,
	},
	"nodeset.a3.dws_flex": {
		"failover_after":       `3600`,
		"boot_failures":        `3`,
		"boot_timeout":         `1200`,
		"health_check":         `120`,
		"enabled":              `true`,
		"gang_timeout":         `900`,
		"job_duration_margin":  `900`,
		"keep_idle":            `1800`,
		"lease_end_warning":    `1800`,
		"max_attempts":         `10`,
		"max_run_duration":     `86400`,
		"on_lease_end":         `requeue`,
		"on_provision_timeout": `hold`,
		"provision_timeout":    `86400`,
		"provisioning":         `node_by_node`,
		"renew_before":         `3600`,
		"salvage":              `true`,
		"salvage_timeout":      `7200`,
		"share_requests":       `50`,
		"use_bulk_insert":      `true`,
		"use_job_duration":     `true`,
	},
	"nodeset.spot": {
		"boot_timeout":         `1200`,
		"health_check":         `120`,
		"capacity":             `on_demand`,
		"keep_idle":            `600`,
		"on_provision_timeout": `hold`,
		"provision_timeout":    `86400`,
	},
	"slurmflex": {
		"api_calls_per_second":         `50`,
		"compute_endpoint":             `http://127.0.0.1:8080`,
		"on_demand_after":              `2h`,
		"http_address":                 `:8918`,
		"interval":                     `60s`,
		"log_file":                     `/var/log/slurmflex.log`,
		"log_level":                    `debug`,
		"max_active_requests":          `50`,
		"max_active_requests_per_user": `20`,
		"max_deletions_per_pass":       `50`,
		"run_dir":                      `/run/slurmflex-alpha`,
		"state_dir":                    `/var/lib/slurmflex-alpha`,
		"waiting":                      `configuring`,
		"yield_after":                  `2h`,
	},
	"slurmflex.limits.bio": {
		"account":   `bio`,
		"cost":      `20000`,
		"gpu_hours": `400`,
		"partition": `train`,
		"per":       `week`,
		"user":      `ada`,
	},
	"slurmflex.regions.gke-us-central1": {
		"endpoint":   `https://gateway.example`,
		"token_file": `/etc/slurmflex/gke.token`,
	},
	"slurmflex.delegate": {
		"resume_program":  `/slurm/scripts/resume_wrapper.sh`,
		"suspend_program": `/slurm/scripts/suspend_wrapper.sh`,
	},
}

// checkExample sets a key to its example. For a key with a field, config check --effective must
// keep the value.
func checkExample(t *testing.T, plain *Config, section, name, unset string) {
	t.Helper()
	example := examples[section][name]
	has := slices.ContainsFunc(structs, func(of any) bool { // it is a field, and not read by hand
		return slices.ContainsFunc(fieldsOf(reflect.TypeOf(of)), func(f field) bool { return f.key == name })
	})
	if example == "" {
		assert.False(t, has && unset != "" && unset != "required" && section != "nodeset.spot", "%s of %s lacks an example in examples", name, section)
		return
	}
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(example), &value), "example of %s", name)
	c, err := Parse("example", with(section, name, value))
	require.NoError(t, err, "the example of %s of %s", name, section)
	if !has || unset == "required" || value == nil || example == "{}" {
		return
	}
	assert.NotEqual(t, without(plain), without(c), "the example of %s of %s is its default; choose a different value", name, section)
	text := c.Effective()
	again, err := Parse("again", text)
	require.NoError(t, err)
	assert.Equal(t, without(c), without(again), "config check --effective loses %s of %s", name, section)
}

// without returns a configuration without its file and lines.
func without(c *Config) Config {
	said := *c
	said.file, said.root, said.Ignored, said.NodeSets = "", nil, nil, nil
	for _, set := range c.NodeSets {
		copied := *set
		copied.Line = 0
		said.NodeSets = append(said.NodeSets, &copied)
	}
	said.Options.Limits = nil
	for _, l := range c.Options.Limits {
		l.Line = 0
		said.Options.Limits = append(said.Options.Limits, l)
	}
	return said
}

// isKnown reports whether a section has a key of that name that is read.
func isKnown(section, key string) bool {
	path := pathOf(section, key)
	c, err := Parse("probe", with(section, key, map[string]any{}))
	if err != nil {
		var all Problems
		errors.As(err, &all)
		return !slices.ContainsFunc(all, func(p Problem) bool {
			return p.Key == path && (strings.HasPrefix(p.Text, "unknown key") || strings.HasPrefix(p.Text, "has no effect"))
		})
	}
	return !slices.Contains(c.Ignored, path)
}

// with returns the smallest configuration with one more key.
func with(section, key string, value any) []byte {
	var all map[string]any
	must.Do(yaml.Unmarshal([]byte(smallest), &all))
	into := at(all, section)
	_, isMap := value.(map[string]any)
	if _, wasMap := into[key].(map[string]any); !isMap || !wasMap {
		into[key] = value
	}
	return must.Get(yaml.Marshal(all))
}

// at returns a section of a configuration.
func at(all map[string]any, section string) map[string]any {
	if section == "top" {
		return all
	}
	for _, name := range strings.Split(section, ".") {
		all, _ = all[name].(map[string]any)
	}
	return all
}

func pathOf(section, key string) string {
	if section == "top" {
		return key
	}
	return section + "." + key
}

var keyForm = regexp.MustCompile(`^[a-z][a-z_]+$`)

// literals returns all words in the package's source that could be a key.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	files := must.Get(filepath.Glob("*.go"))
	all := make(map[string]bool)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				word, err := strconv.Unquote(literal.Value)
				if tag := reflect.StructTag(word).Get("key"); tag != "" {
					word = tag
				}
				if err == nil && keyForm.MatchString(word) {
					all[word] = true
				}
			}
			return true
		})
	}
	return all
}
