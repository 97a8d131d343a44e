package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// gcloudCommand is a command of gcloud that a page may have.
type gcloudCommand struct {
	words    string            // before its arguments
	needs    []string          // options that it must have
	must     map[string]string // options that must have a value
	argument bool              // whether something is named
}

// flexTemplate is what makes an instance template one of flex-start.
// Source: Compute's documentation of flex-start VMs.
var flexTemplate = map[string]string{
	"provisioning-model": "FLEX_START", "instance-termination-action": "DELETE",
	"maintenance-policy": "TERMINATE", "reservation-affinity": "none",
}

var gcloudCommands = []gcloudCommand{
	{words: "services enable", argument: true},
	{words: "iam service-accounts create", argument: true, needs: []string{"project"}},
	{words: "iam service-accounts add-iam-policy-binding", argument: true, needs: []string{"role", "member"}},
	{words: "iam roles create", argument: true, needs: []string{"project", "file"}},
	{words: "iam roles update", argument: true, needs: []string{"project", "file"}},
	{words: "projects add-iam-policy-binding", argument: true, needs: []string{"role", "member"}},
	{words: "compute instances set-service-account", argument: true, needs: []string{"service-account", "scopes"}},
	{words: "compute instances get-serial-port-output", argument: true, needs: []string{"zone"}},
	{words: "compute instances list", needs: []string{"filter"}},
	{
		words: "compute instance-templates create", argument: true, must: flexTemplate,
		needs: []string{"project", "machine-type", "max-run-duration", "image", "instance-template-region"},
	},
	{words: "compute images create", argument: true, needs: []string{"source-disk", "source-disk-zone"}},
	{words: "compute instance-groups managed list", needs: []string{"filter"}},
	{words: "compute instance-groups managed delete", argument: true, needs: []string{"region"}},
	{words: "compute regions describe", argument: true},
}

// gcloud stands for Google's program: the command must be one of the above with
// its options, and the files that it names must be there.
func gcloud(args []string) error {
	given, words := options(args)
	line := strings.Join(words, " ")
	at := slices.IndexFunc(gcloudCommands, func(c gcloudCommand) bool {
		return line == c.words && !c.argument || strings.HasPrefix(line, c.words+" ")
	})
	if at < 0 {
		return errors.New("not a command that is known here, or its argument is missing; write options as --name=value")
	}
	c := gcloudCommands[at]
	for _, name := range c.needs {
		if given[name] == "" {
			return fmt.Errorf("--%s= is missing", name)
		}
	}
	for name, value := range c.must {
		if given[name] != value {
			return fmt.Errorf("--%s=%s is missing", name, value)
		}
	}
	if strings.HasPrefix(c.words, "iam roles") {
		return checkRole(given["file"])
	}
	return nil
}

// checkRole holds a file against the form of a custom role.
func checkRole(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var role struct {
		Title       string   `yaml:"title"`
		Stage       string   `yaml:"stage"`
		Permissions []string `yaml:"includedPermissions"`
	}
	if err := yaml.Unmarshal(text, &role); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	odd := func(p string) bool { return strings.Count(p, ".") != 2 || !strings.HasPrefix(p, "compute.") }
	if role.Title == "" || role.Stage == "" || len(role.Permissions) == 0 || slices.ContainsFunc(role.Permissions, odd) {
		return fmt.Errorf("%s is no role: it needs title, stage and includedPermissions of compute", path)
	}
	return nil
}
