package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// Checks that CONTRIBUTING.md's example of a new rule leads to a passing test.
func TestExampleOfARulePasses(t *testing.T) {
	root := must.Get(filepath.Abs("../../.."))
	text := must.Get(os.ReadFile(filepath.Join(root, "CONTRIBUTING.md")))
	contributing, err := parsePage("CONTRIBUTING.md", text)
	require.NoError(t, err)
	var code []string
	for _, b := range contributing.blocks {
		if b.language == "go" {
			code = append(code, b.text)
		}
	}
	require.GreaterOrEqual(t, len(code), 3)
	rules := must.Get(os.ReadFile(filepath.Join(root, "flex/plan/rules/rules.go")))
	before, after, found := strings.Cut(string(rules), "\t{componentsFirst")
	require.True(t, found)

	dir := t.TempDir()
	overlay := map[string]string{}
	for path, content := range map[string]string{
		"flex/plan/rules/night.go": code[0],
		"flex/plan/rules/rules.go": before + code[1] + "\t{componentsFirst" + after,
		"flex/plan/night_test.go":  code[2],
	} {
		overlay[filepath.Join(root, path)] = filepath.Join(dir, filepath.Base(path))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), []byte(content), 0o600))
	}
	list := must.Get(json.Marshal(map[string]any{"Replace": overlay}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	test := exec.Command("go", "test", "-overlay", filepath.Join(dir, "overlay.json"), "-run", "Night", "-v", "./flex/plan")
	test.Dir = root
	out, err := test.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestNightJobWaitsByDay")
}
