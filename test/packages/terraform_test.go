package packages

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	module = "../../scripts/terraform"
	role   = "../../scripts/iam/slurmflex-role.yaml"
)

// terraform runs Terraform on a folder without a network. It cannot download providers, so it
// does not check provider schemas.
func terraform(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-chdir=" + dir}, args...)...)
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, &stderr)
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func permissions(t *testing.T) []string {
	t.Helper()
	var r struct {
		IncludedPermissions []string `yaml:"includedPermissions"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, role)), &r))
	require.NotEmpty(t, r.IncludedPermissions)
	return r.IncludedPermissions
}

func TestTerraformIsFormatted(t *testing.T) {
	assert.Empty(t, terraform(t, module, "", "fmt", "-check", "-diff"))
}

func TestTerraformRoleMatchesTheYAML(t *testing.T) {
	text := read(t, filepath.Join(module, "main.tf"))
	assert.Contains(t, text, "permissions = local.role.includedPermissions\n")
	locals := regexp.MustCompile(`(?s)\nlocals \{.*?\n\}\n`).FindString(text)
	require.NotEmpty(t, locals)

	// The packages install the two folders side by side.
	dir := t.TempDir()
	for path, text := range map[string]string{"terraform/main.tf": locals, "iam/" + filepath.Base(role): read(t, role)} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	out := terraform(t, filepath.Join(dir, "terraform"), "jsonencode(local.role.includedPermissions)\n", "console")
	var quoted string
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(out)), &quoted), out)
	var got []string
	require.NoError(t, json.Unmarshal([]byte(quoted), &got), quoted)
	assert.Equal(t, permissions(t), got)
}

func TestTerraformVariablesAreDeclaredAndUsed(t *testing.T) {
	main := read(t, filepath.Join(module, "main.tf"))
	blocks := regexp.MustCompile(`(?s)variable "(\w+)" \{(.*?)\n\}`).FindAllStringSubmatch(read(t, filepath.Join(module, "variables.tf")), -1)
	var declared, required []string
	for _, b := range blocks {
		declared = append(declared, b[1])
		if !strings.Contains(b[2], "default ") {
			required = append(required, b[1])
		}
	}
	matches := func(pattern, text string) (names []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	slices.Sort(declared)
	assert.Equal(t, declared, matches(`\bvar\.(\w+)`, main), "each is used, and each that is used is declared")
	example := matches(`(?m)^(\w+) *=`, read(t, filepath.Join(module, "example.tfvars")))
	assert.Subset(t, example, required, "the example sets those without a default")
	assert.Subset(t, declared, example)
}

func TestTerraformTemplateSuitsFlexStart(t *testing.T) {
	main := read(t, filepath.Join(module, "main.tf"))
	for _, setting := range []string{
		`provisioning_model          = "FLEX_START"`, `instance_termination_action = "DELETE"`, `on_host_maintenance         = "TERMINATE"`,
		`seconds = 604800`, `type = "NO_RESERVATION"`,
	} {
		assert.Contains(t, main, setting)
	}
	assert.NotContains(t, main, "resource_policies", "slurmflex attaches its own")
}
