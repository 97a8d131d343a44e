package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/cmd/slurmflex-trial/trial"
	"slurmflex/config"
	"slurmflex/flex/wake"
	"slurmflex/test/fakegce/command"
	"slurmflex/test/must"
)

const manPages = "../../docs/man"

// described returns the part of a command's help before its flags.
func described(c *cobra.Command) string {
	switch {
	case c.Parent() != nil && c.Parent().Name() == "completion":
		return c.Short
	case c.Name() == "completion":
		return "Print a script that makes a shell complete slurmflex's commands and flags, and\n" +
			"jobs, nodes, nodesets, partitions and users that the daemon knows. The packages\n" +
			"install it for bash, zsh and fish."
	}
	return c.Long
}

// reference writes the sections that only the page of slurmflex itself has.
func reference(p *page, unset config.Options) {
	p.section("EXIT STATUS")
	p.item("0", "Done.")
	p.item("1", "Failed or interrupted. A line on stderr names the cause and the fix.")
	p.item("2", "Wrong usage or configuration. Nothing was done.")
	p.section("FILES")
	p.item(defaultConfig, "The configuration. Only root and SlurmUser may be able to write it.")
	p.item(wake.SocketPath(unset.RunDir), "The daemon's socket for hooks, in slurmflex.run_dir.")
	p.item(unset.LogFile, "The log of hooks, and of the passes that they start, which also log to syslog: slurmflex.log_file. The daemon logs to stderr.")
	p.item(libexec+"/resume, suspend, resume-fail", "What slurm.conf names as ResumeProgram, SuspendProgram and ResumeFailProgram.")
	p.item(libexec+"/diag", "Writes an archive for a bug report.")
	p.item("/usr/share/doc/slurmflex", "The documentation and an example configuration.")
	p.item("/usr/share/slurmflex", "The Cluster Toolkit module with the IAM role, alert rules, the dashboard and the JSON schema.")
	p.section("ENVIRONMENT")
	p.item("GOOGLE_APPLICATION_CREDENTIALS", "A file of credentials for Compute, if google_app_cred_path names none.")
	p.item("SLURM_CONF", "Where Slurm's commands find slurm.conf.")
	p.item("SLURM_RESUME_FILE", "Names the jobs that wait for the nodes; set by Slurm for resume.")
	p.item("NO_COLOR", "If not empty, status does not use colors.")
	p.item("NOTIFY_SOCKET, WATCHDOG_USEC", "Set by systemd for the daemon.")
}

// libexec is the packages' folder for the programs that slurmctld calls.
const libexec = "/usr/libexec/slurmflex"

// walk calls do with a command and all its visible subcommands.
func walk(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		if hasPage(sub) {
			walk(sub, do)
		}
	}
}

// TestManPages compares the pages with the commands; with UPDATE=1 it rewrites them.
func TestManPages(t *testing.T) {
	unset := must.Get(config.Parse("config.yaml", []byte("slurm_cluster_name: alpha\nproject: demo\n")))
	want := map[string]string{}
	for _, root := range []*cobra.Command{newRoot(&app{}), trial.New(nil), command.New()} {
		walk(root, func(c *cobra.Command) { want[dashed(c)+".1"] = pageOf(c, unset.Options) })
	}
	have := must.Get(os.ReadDir(manPages))
	if os.Getenv("UPDATE") != "" {
		for _, entry := range have {
			require.NoError(t, os.Remove(filepath.Join(manPages, entry.Name())))
		}
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(manPages, name), []byte(text), 0o644))
		}
		return
	}
	for _, entry := range have {
		assert.Contains(t, want, entry.Name(), "no command has this page")
	}
	for name, text := range want {
		assert.Equal(t, text, must.Text(filepath.Join(manPages, name)), "%s; run UPDATE=1 go test ./cmd/slurmflex -run TestManPages", name)
	}
}

func TestManPagesHaveNoWarnings(t *testing.T) {
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not installed; it is in the package man-db")
	}
	files := must.Get(filepath.Glob(filepath.Join(manPages, "*.1")))
	require.NotEmpty(t, files)
	for _, file := range files {
		page := exec.CommandContext(t.Context(), man, "--warnings=w,mac", "--local-file", file)
		page.Env = []string{"LC_ALL=C.UTF-8", "MANWIDTH=100", "PATH=" + os.Getenv("PATH")}
		var complaints strings.Builder
		page.Stderr = &complaints
		text, err := page.Output()
		require.NoError(t, err)
		assert.Empty(t, complaints.String(), file)
		assert.Contains(t, string(text), strings.TrimSuffix(filepath.Base(file), ".1"))
	}
}

func TestEveryCommandHasAValidExample(t *testing.T) {
	walk(newRoot(&app{}), func(c *cobra.Command) {
		assert.NotEmpty(t, described(c), "%s lacks a Long", c.CommandPath())
		assert.NotRegexp(t, `^[A-Z]\w+s `, c.Long, "%s: the imperative, as in Short", c.CommandPath())
		assert.NotRegexp(t, `(?m)^.{101}`, c.Long, "%s: too wide", c.CommandPath())
		assert.NotRegexp(t, `(?m)^.{119}`, c.UsageString(), "%s: too wide", c.CommandPath())
		named := false
		for line := range strings.Lines(c.Example) {
			assert.True(t, strings.HasPrefix(line, "  "), "%s: %q is not indented", c.CommandPath(), line)
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, " >")
			words := strings.Fields(line)
			if i := len(words); i == 0 || words[0] != "slurmflex" {
				continue
			}
			root := newRoot(&app{})
			found, args, err := root.Find(words[1:])
			require.NoError(t, err, line)
			require.NoError(t, found.ParseFlags(args), line)
			require.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
			named = named || strings.HasPrefix(found.CommandPath(), c.CommandPath())
		}
		assert.True(t, named, "%s lacks an example of itself", c.CommandPath())
	})
}
