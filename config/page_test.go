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
	"time"

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
slurmflex: {delegate: {}, regions: {gke-us-central1: {endpoint: "http://127.0.0.1:8930"}}}
`

// TestConfigurePage compares the page with the code. UPDATE=1 writes the columns values and
// default. Meanings are written by hand.
func TestConfigurePage(t *testing.T) {
	old, err := os.ReadFile(configurePage)
	require.NoError(t, err)
	text := marked.ReplaceAllStringFunc(string(old), func(part string) string {
		found := marked.FindStringSubmatch(part)
		return found[0][:strings.Index(part, "\n")+1] + keyTable(t, found[1], found[2])
	})
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(configurePage, []byte(text), 0o644))
	}
	for _, section := range sections {
		assert.Contains(t, text, "<!-- keys "+section+" -->", "the page lacks a table of these keys")
	}
	for _, k := range inText {
		assert.Regexp(t, "(?m)(^|[` ])"+k.name+"[`:]", text, "the page does not describe %s of %s", k.name, k.section)
		checkExample(t, k, examples[k.section][k.name], unset(t, k.section, k.name))
	}
	var also []string
	for _, name := range slices.Sorted(maps.Keys(literals(t))) {
		if isKnown("nodeset.spot", name) && isKnown("nodeset.a3.dws_flex", name) {
			also = append(also, "`"+name+"`")
		}
	}
	last := len(also) - 1
	assert.Contains(t, strings.Join(strings.Fields(text), " "), strings.Join(also[:last], ", ")+" and "+also[last], "the keys that a nodeset with capacity takes")
	assert.Equal(t, text, string(old), "UPDATE=1 go test ./config -run TestConfigurePage updates the page from the code")
}

// marked matches a table below its mark, up to an empty line.
var marked = regexp.MustCompile(`(?m)^<!-- keys (\S+) -->\n((?:.+\n)+)`)

// sections are the tables: one for neededFirst, and one for each mapping that has keys of
// slurmflex. top is the file itself.
var sections = []string{"first", "top", "partitions.train", "nodeset.a3", "nodeset.a3.dws_flex", "nodeset.spot", "slurmflex", "slurmflex.delegate", "slurmflex.regions.gke-us-central1"}

// besides maps a section to others. The section's table lists only the keys that the others lack.
var besides = map[string][]string{"nodeset.spot": {"nodeset.a3", "nodeset.a3.dws_flex"}}

// inText are keys that no table lists, because the page's text describes them: mappings, and keys
// that exist for slurm-gcp's files.
var inText = []key{
	{"top", "google_app_cred_path"},
	{"top", "nodeset"},
	{"top", "nodeset_dyn"},
	{"top", "nodeset_tpu"},
	{"top", "partitions"},
	{"top", "slurmflex"},
	{"partitions.train", "partition_name"},
	{"partitions.train", "partition_nodeset_dyn"},
	{"partitions.train", "partition_nodeset_tpu"},
	{"nodeset.a3", "accelerator_topology"},
	{"nodeset.a3", "enable_spot_vm"},
	{"nodeset.a3", "future_reservation"},
	{"nodeset.a3", "nodeset_name"},
	{"nodeset.a3", "preemptible"},
	{"nodeset.a3", "spot"},
	{"nodeset.a3", "zone_target_shape"},
	{"slurmflex", "delegate"},
	{"slurmflex", "regions"},
}

// neededFirst are the keys that every site sets, in the order of their table, which has the mark
// first. The tables of their sections do not repeat them.
var neededFirst = []key{
	{"top", "slurm_cluster_name"},
	{"top", "project"},
	{"partitions.train", "partition_nodeset"},
	{"nodeset.a3", "node_count_dynamic_max"},
	{"nodeset.a3", "instance_template"},
	{"nodeset.a3", "subnetwork"},
	{"nodeset.a3", "zone_policy_allow"},
	{"nodeset.a3", "dws_flex"},
}

// key is a key of a section.
type key struct{ section, name string }

// tagged maps each section to the structs with its keys as fields.
var tagged = map[string][]any{
	"top": {Config{}}, "partitions.train": {Partition{}}, "nodeset.a3": {NodeSet{}}, "nodeset.a3.dws_flex": {Flex{}},
	"nodeset.spot": {Flex{}}, "slurmflex": {Options{}}, "slurmflex.delegate": {Delegate{}}, "slurmflex.regions.gke-us-central1": {Region{}},
}

// field returns the field of a key; false for a key that is read by hand.
func (k key) field() (field, bool) {
	for _, of := range tagged[k.section] {
		for _, f := range fieldsOf(reflect.TypeOf(of)) {
			if f.key == k.name {
				return f, true
			}
		}
	}
	return field{}, false
}

// TestEveryFieldHasAKey checks that every field has a key. Without one it would be missing on the
// page and in config check --effective.
func TestEveryFieldHasAKey(t *testing.T) {
	for _, structs := range tagged {
		for _, of := range structs {
			for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
				if f.IsExported() && f.Tag.Get("key") == "" {
					t.Errorf("%T.%s lacks a key; write tags like those of the fields around it", of, f.Name)
				}
			}
		}
	}
}

// label returns a key's text in the first column. In the table of all sections, it is the key's
// path.
func (k key) label(table string) string {
	if table != "first" {
		return k.name
	}
	path := pathOf(k.section, k.name)
	return strings.NewReplacer("partitions.train.", "partitions.NAME.", "nodeset.a3.", "nodeset.NAME.").Replace(path)
}

// tableKeys returns the keys of a table.
func tableKeys(t *testing.T, table string) (keys []key) {
	if table == "first" {
		return neededFirst
	}
	for _, name := range slices.Sorted(maps.Keys(literals(t))) {
		k := key{table, name}
		others, apart := besides[table]
		elsewhere := func(other string) bool { return isKnown(other, name) }
		switch {
		case slices.Contains(neededFirst, k), slices.Contains(inText, k):
		case !isKnown(table, name), name == "capacity" && !apart, name != "capacity" && slices.ContainsFunc(others, elsewhere):
		default:
			keys = append(keys, k)
		}
	}
	return keys
}

// keyTable writes a table of keys. Values and default follow the code. old has the columns that were
// written by hand.
func keyTable(t *testing.T, table, old string) string {
	rows := make(map[string][]string)
	for line := range strings.Lines(old) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|")
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		if len(cells) == 4 {
			rows[strings.Trim(cells[0], "`")] = cells
		}
	}
	var out strings.Builder
	out.WriteString("| key | meaning | values | default |\n|---|---|---|---|\n")
	for _, k := range tableKeys(t, table) {
		row := rows[k.label(table)]
		if row == nil && os.Getenv("UPDATE") != "" {
			row = make([]string, 4)
		}
		if !assert.Len(t, row, 4, "%s of %s is not in the table; UPDATE=1 adds a row; then write its meaning", k.name, table) {
			continue
		}
		if limits := limits(k.section, k.name); limits != "" {
			row[2] = limits
			if f, has := k.field(); has && f.unit != "" && f.unit != "duration" {
				row[2] += " " + f.unit
			}
		}
		row[3] = unset(t, k.section, k.name)
		assert.NotEmpty(t, row[1], "%s of %s lacks a meaning; write it", k.name, table)
		if bounds := numbers.FindStringSubmatch(row[2]); bounds != nil {
			checkBounds(t, k.section, k.name, bounds[1], bounds[2])
		}
		checkExample(t, k, examples[k.section][k.name], row[3])
		fmt.Fprintf(&out, "| `%s` | %s |\n", k.label(table), strings.TrimSuffix(strings.Join(row[1:], " | "), " "))
	}
	return out.String()
}

// numbers matches a range of numbers or durations.
var numbers = regexp.MustCompile(`^(\d\S*) to (\d\S*)`)

// checkBounds sets a key to values just outside its range.
func checkBounds(t *testing.T, section, key, low, high string) {
	t.Helper()
	beside := func(bound string, by int) any {
		if n, err := strconv.Atoi(bound); err == nil {
			return n + by
		}
		d, err := time.ParseDuration(bound)
		require.NoError(t, err)
		return (d + time.Duration(by)*time.Millisecond).String()
	}
	for _, value := range []any{beside(low, -1), beside(high, 1)} {
		_, err := Parse("bounds", with(section, key, value))
		assert.Error(t, err, "%s of %s: %v", key, section, value)
	}
}

// examples are values for keys, by section. They differ from the default.
var examples = map[string]map[string]string{
	"top": {
		"slurm_cluster_name":   `alpha`,
		"project":              `my-project`,
		"google_app_cred_path": `/etc/slurmflex/key.json`,
		"slurm_bin_dir":        `/usr/local/bin`,
		"slurm_log_dir":        `/var/log/slurm-alpha`,
	},
	"partitions.train": {
		"partition_nodeset":    `[a3]`,
		"enable_job_exclusive": `true`,
		"partition_name":       `train`,
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
		"nodeset_name":           `a3`,
		"placement_max_distance": `2`,
		"preemptible":            `false`,
		"spot":                   `false`,
		"zone_policy_deny":       `[us-central1-f]`,
		"zone_target_shape":      `ANY_SINGLE_ZONE`,
	},
	"nodeset.a3.dws_flex": {
		"ask_elsewhere_after":  `3600`,
		"boot_failures":        `3`,
		"boot_timeout":         `1200`,
		"enabled":              `true`,
		"gang_timeout":         `900`,
		"job_duration_margin":  `900`,
		"keep_idle":            `1800`,
		"lease_end_signal":     `TERM`,
		"lease_end_warning":    `1800`,
		"max_attempts":         `10`,
		"max_run_duration":     `86400`,
		"on_lease_end":         `requeue`,
		"on_provision_timeout": `hold`,
		"provision_timeout":    `86400`,
		"provisioning":         `node_by_node`,
		"refresh_after":        `86400`,
		"renew_before":         `3600`,
		"salvage":              `true`,
		"salvage_timeout":      `7200`,
		"share_requests":       `50`,
		"use_bulk_insert":      `true`,
		"use_job_duration":     `true`,
	},
	"nodeset.spot": {
		"boot_timeout":         `1200`,
		"capacity":             `on_demand`,
		"keep_idle":            `600`,
		"on_provision_timeout": `hold`,
		"provision_timeout":    `86400`,
	},
	"slurmflex": {
		"api_calls_per_second":         `50`,
		"compute_endpoint":             `http://127.0.0.1:8080`,
		"credentials_file":             `/etc/slurmflex/key.json`,
		"dearer_after":                 `2h`,
		"http_address":                 `:8918`,
		"interval":                     `60s`,
		"log_file":                     `/var/log/slurmflex.log`,
		"log_format":                   `json`,
		"log_level":                    `debug`,
		"max_active_requests":          `50`,
		"max_active_requests_per_user": `20`,
		"max_deletions_per_pass":       `50`,
		"max_places":                   `2`,
		"metrics_by_account":           `true`,
		"pending_grace":                `10m`,
		"run_dir":                      `/run/slurmflex-alpha`,
		"state_dir":                    `/var/lib/slurmflex-alpha`,
		"waiting":                      `configuring`,
		"yield_after":                  `2h`,
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
func checkExample(t *testing.T, k key, example, unset string) {
	t.Helper()
	_, has := k.field()
	if example == "" {
		assert.False(t, has && strings.HasPrefix(unset, "`"), "%s of %s lacks an example in examples", k.name, k.section)
		return
	}
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(example), &value), "example of %s", k.name)
	c, err := Parse("example", with(k.section, k.name, value))
	require.NoError(t, err, "the example of %s of %s", k.name, k.section)
	if !has || k.name == "nodeset_name" || k.name == "partition_name" || unset == "required" || value == nil || example == "{}" {
		return
	}
	plain, err := Parse("plain", []byte(smallest))
	require.NoError(t, err)
	assert.NotEqual(t, without(plain), without(c), "the example of %s of %s is its default; choose a different value", k.name, k.section)
	text, err := c.Effective()
	require.NoError(t, err)
	again, err := Parse("again", text)
	require.NoError(t, err)
	assert.Equal(t, without(c), without(again), "config check --effective loses %s of %s", k.name, k.section)
}

// without returns a configuration without its file and lines.
func without(c *Config) Config {
	said := *c
	said.file, said.root, said.Ignored, said.NodeSets, said.Partitions = "", nil, nil, nil, nil
	for _, set := range c.NodeSets {
		copied := *set
		copied.Line = 0
		said.NodeSets = append(said.NodeSets, &copied)
	}
	for _, p := range c.Partitions {
		p.Line = 0
		said.Partitions = append(said.Partitions, p)
	}
	return said
}

// isKnown reports whether a section has a key of that name that is read.
func isKnown(section, key string) bool {
	path := pathOf(section, key)
	c, err := Parse("probe", with(section, key, map[string]any{}))
	if err != nil {
		return !slices.ContainsFunc(problemsOf(err), func(p Problem) bool {
			return p.Key == path && (strings.HasPrefix(p.Text, "unknown key") || strings.HasPrefix(p.Text, "has no effect"))
		})
	}
	return !slices.ContainsFunc(c.Ignored, func(i Ignored) bool { return i.Key == path })
}

var (
	fix   = regexp.MustCompile(`is not a (?:whole number|duration|boolean); must be (.*)$`)
	words = regexp.MustCompile(`is not known; must be (.*)$`)
)

// limits returns the range of a key from the text of its problems: for a number, a duration, a
// boolean or a choice of words.
func limits(section, key string) string {
	for _, try := range []struct {
		value any
		form  *regexp.Regexp
	}{{map[string]any{}, fix}, {"no such word", words}} {
		_, err := Parse("probe", with(section, key, try.value))
		for _, p := range problemsOf(err) {
			if found := try.form.FindStringSubmatch(p.Text); p.Key == pathOf(section, key) && found != nil {
				return found[1]
			}
		}
	}
	return ""
}

// unset returns the value that a key has when it is not set; empty: none.
func unset(t *testing.T, section, key string) string {
	t.Helper()
	if _, err := Parse("probe", with(section, key, nil)); err != nil {
		return "required"
	}
	c, err := Parse("probe", []byte(smallest))
	require.NoError(t, err)
	text, err := c.Effective()
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, yaml.Unmarshal(text, &all))
	switch value := at(all, section)[key].(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		if value == "" {
			return ""
		}
		return "`" + value + "`"
	default:
		return fmt.Sprintf("`%v`", value)
	}
}

// with returns the smallest configuration with one more key.
func with(section, key string, value any) []byte {
	var all map[string]any
	must.Do(yaml.Unmarshal([]byte(smallest), &all))
	into := at(all, section)
	if _, isMap := value.(map[string]any); !isMap || into[key] == nil {
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

func problemsOf(err error) Problems {
	var all Problems
	errors.As(err, &all)
	return all
}

// TestOperatePageNamesTheKeysThatNeedARestart compares docs/operate.md with the tags.
func TestOperatePageNamesTheKeysThatNeedARestart(t *testing.T) {
	page, err := os.ReadFile("../docs/operate.md")
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(page), "These keys need a restart")
	list, _, _ = strings.Cut(list, "`log_file` and `delegate` need no reload")
	var named, want []string
	for _, found := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, found[1])
	}
	for _, f := range slices.Concat(fieldsOf(reflect.TypeFor[Config]()), fieldsOf(reflect.TypeFor[Options]())) {
		if f.restart {
			want = append(want, f.key)
		}
	}
	assert.ElementsMatch(t, append(want, "status", "slurmflex"), named)
}

var keyForm = regexp.MustCompile(`^[a-z][a-z_]+$`)

// literals returns all words in the package's source that could be a key.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	all := make(map[string]bool)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
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
