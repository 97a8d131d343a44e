// Package setup prepares a cluster for slurmflex. It writes the first configuration from a few answers, and
// the parts of slurm.conf and of Lua for a configuration. It compares a configuration with good practice, with
// Slurm's configuration, and with Compute: it first observes everything and then judges the observations, so
// that the judgement is a pure function. It says how to move a cluster from slurm-gcp's scripts to slurmflex.
package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"slurmflex/flex/terminal"
	"slurmflex/slurm"
)

// answers describe a cluster with one partition of flex-start nodes.
type answers struct {
	Cluster   string
	Project   string
	Region    string
	Partition string
	Machine   string // the machine type
	Time      string // the longest job, such as 1-00:00:00
	Nodes     int
	Zones     []string // empty means two zones that nearly all regions have
}

// question asks for one of the answers.
type question struct {
	Flag    string // the flag that answers it too
	Text    string
	Example string
	Default string // empty if an answer is required
	Answer  *string

	form *regexp.Regexp
	also func(string) error // another check of the answer, or nil
}

// Questions are asked in this order.
func (a *answers) Questions() []question {
	return []question{
		{"project", "Project of the machines", "my-project", "", &a.Project, regexp.MustCompile(`^[a-z][a-z0-9.:-]+$`), nil},
		{"region", "Region", "us-central1", "", &a.Region, regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+$`), nil},
		{"partition", "Partition to create", "train", "train", &a.Partition, regexp.MustCompile(`^[A-Za-z][\w-]*$`), nil},
		{"machine-type", "Machine type", "a3-megagpu-8g", "", &a.Machine, regexp.MustCompile(`^[a-z][a-z0-9]*-[a-z0-9-]+$`), checkMachine},
		{"time", "Time limit of the longest job, as days-hours:minutes:seconds", "1-00:00:00", "1-00:00:00", &a.Time, regexp.MustCompile(`^[0-9:-]+$`), checkTime},
	}
}

// zoneLetter matches what follows the region in a zone's name; Google's AI zones have names such as
// us-central1-ai1a.
var zoneLetter = regexp.MustCompile(`^(?:ai[0-9]+)?[a-z]$`)

// margin is the part of a lease reserved for booting. Leases last 10 minutes to 7 days.
const (
	margin       = 10 * time.Minute
	longestLease = 7 * 24 * time.Hour
)

// maxNodes is the maximum of node_count_dynamic_max.
const maxNodes = 100_000

// checkMachine refuses A4X. Its names look like those of other types with GPUs.
func checkMachine(name string) error {
	if strings.HasPrefix(name, "a4x-") {
		return errors.New("slurmflex does not support A4X; use H4D or another type with GPUs")
	}
	return nil
}

func checkTime(text string) error {
	switch limit := slurm.ParseLimit(text); {
	case limit.Kind != slurm.LimitSet:
		return fmt.Errorf("must be a time such as 4:00:00 or 2-12:00:00, not %q", text)
	case limit.Duration == 0:
		return errors.New("must be longer than 0")
	case limit.Duration+margin > longestLease:
		return errors.New("must be at most 6-23:50:00: Google's longest lease of 7 days, less 10 minutes to boot")
	}
	return nil
}

// check returns an error if the text does not answer the question.
func (q question) check(text string) error {
	if !q.form.MatchString(text) {
		return fmt.Errorf("--%s must look like %s, not %q", q.Flag, q.Example, text)
	}
	if q.also != nil {
		if err := q.also(text); err != nil {
			return fmt.Errorf("--%s: %w", q.Flag, err)
		}
	}
	return nil
}

// ask asks until there is an answer, no more input, or ctx ends.
func (q question) ask(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	hint := "for example " + q.Example
	if q.Default != "" {
		hint = q.Default
	}
	for {
		fmt.Fprintf(out, "%s [%s]: ", q.Text, hint)
		line, err := terminal.ReadLine(ctx, in)
		if ctx.Err() != nil {
			fmt.Fprintln(out)
			return errors.New("interrupted; no file is written")
		}
		text := cmp.Or(strings.TrimSpace(line), q.Default)
		switch wrong := q.check(text); {
		case err != nil && line == "":
			fmt.Fprintln(out)
			return fmt.Errorf("no answer; set --%s", q.Flag)
		case wrong == nil:
			*q.Answer = text
			return nil
		case err != nil:
			return wrong
		default:
			fmt.Fprintln(out, wrong)
		}
	}
}

// checkGiven checks the answers that flags have given.
func (a *answers) checkGiven(questions []question) error {
	if a.Nodes < 1 || a.Nodes > maxNodes {
		return fmt.Errorf("--nodes must be 1 to %d, not %d", maxNodes, a.Nodes)
	}
	for _, q := range questions {
		if *q.Answer == "" {
			continue
		}
		if err := q.check(*q.Answer); err != nil {
			return err
		}
	}
	return nil
}

// askOthers asks for the answers that no flag has given.
func (a *answers) askOthers(ctx context.Context, questions []question, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for _, q := range questions {
		if *q.Answer != "" {
			continue
		}
		if err := q.ask(ctx, lines, out); err != nil {
			return err
		}
	}
	for _, zone := range a.Zones {
		if letter, in := strings.CutPrefix(zone, a.Region+"-"); !in || !zoneLetter.MatchString(letter) {
			return fmt.Errorf("--zones: %q is no zone of region %s; name zones such as %[2]s-b", zone, a.Region)
		}
	}
	return nil
}

// next says what to do with the files, whose paths are absolute.
func (a answers) next(configuration, flexConf string) string {
	limit := slurm.ParseLimit(a.Time)
	return fmt.Sprintf(`%s and %s are written. Jobs of partition %s may run for up to %s. Next:
- read both files; correct nodes, zones (gcloud compute machine-types list --filter=name=%s) and subnetwork
- create the instance template %s (docs/install.md, step 3)
- add to slurm.conf: include %[2]s; remove a partition %[3]s from it, and restart slurmctld
- run as SlurmUser: slurmflex --config %[1]s config check --live
- start the daemon: systemctl enable --now slurmflex
`, configuration, flexConf, a.Partition, limit, a.Machine, a.template())
}

// nodeSet is the name of the nodeset: the machine series, such as a3.
func (a answers) nodeSet() string {
	series, _, _ := strings.Cut(a.Machine, "-")
	return series
}

// template is the link of the instance template.
func (a answers) template() string {
	return fmt.Sprintf("projects/%s/regions/%s/instanceTemplates/%s", a.Project, a.Region, a.nodeSet())
}

// config is the configuration file. All answers must have been checked.
func (a answers) config() string {
	limit := slurm.ParseLimit(a.Time).Duration
	zones := a.Zones
	if len(zones) == 0 {
		zones = []string{a.Region + "-b", a.Region + "-c"}
	}
	return fmt.Sprintf(`slurm_cluster_name: %[1]s  # ClusterName of slurm.conf
project: %[2]s
partitions:
  %[3]s:
    enable_job_exclusive: true  # whole nodes, to one job at a time
    partition_nodeset: [%[4]s]
nodeset:
  %[4]s:
    node_count_dynamic_max: %[5]d  # nodes %[1]s-%[4]s-0 to %[1]s-%[4]s-%[6]d
    instance_template: %[7]s  # with machine type %[8]s
    subnetwork: projects/%[2]s/regions/%[9]s/subnetworks/default
    zone_policy_allow: [%[10]s]  # zones that have the machine type
    dws_flex:
      max_run_duration: %[11]d  # longest lease, in seconds
      use_job_duration: true  # the lease is the job's --time …
      job_duration_margin: %[12]d  # … and 10 minutes to boot
`, a.Cluster, a.Project, a.Partition, a.nodeSet(), a.Nodes, a.Nodes-1, a.template(), a.Machine, a.Region, strings.Join(zones, ", "),
		int((limit + margin).Seconds()), int(margin.Seconds()))
}
