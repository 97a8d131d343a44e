package plan_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
	"slurmflex/test/scenetest"
)

// These axes determine the answer to one node, apart from times, limits and other nodes: the node's
// state in Slurm, and everything around the node.
var (
	stateAxes = []axis{
		{"base", []string{"IDLE", "ALLOCATED", "MIXED", "DOWN", "ERROR", "UNKNOWN", "FUTURE", "IDLE+LEVITATING"}},
		flag("POWERING_DOWN"), flag("POWERED_DOWN"), flag("POWERING_UP"), flag("POWER_UP"),
		flag("COMPLETING"), flag("DRAIN"), flag("POWER_DOWN"), flag("NOT_RESPONDING"),
	}
	aroundAxes = []axis{
		{"node", []string{"dynamic", "static"}},
		{"job", []string{"none", "CONFIGURING", "RUNNING", "COMPLETING"}},
		{"instance", []string{"none", "RUNNING", "STOPPING", "TERMINATED"}},
		{"request", []string{"none", "CREATING", "ACCEPTED", "PONDERING", "SUCCEEDED", "FAILED", "CANCELLED"}},
	}
)

const answersHead = `What a plan does about one node, for every combination of its states in Slurm and
in the cloud. What the cloud has is in a group of ours whose request asks for this
node alone. RUNNING stands for any status of an instance that is there to stay,
LEVITATING for any word that Slurm has not had so far, PONDERING for any that
Compute has not. A condition that is not named makes no difference;
no pass has missed a machine before.
`

const answersFile = "testdata/answers.txt"

// TestEveryCombinationHasAnAnswer checks every answer against all rules and against the recorded
// answers. After an intended change, UPDATE=1 writes the record again for review.
func TestEveryCombinationHasAnAnswer(t *testing.T) {
	cfg := houseConfig(t)
	// By state, then by the node's surroundings.
	answers := make([][]string, combinations(stateAxes))
	var side sync.WaitGroup
	for i := range stateAxes[0].values {
		side.Go(func() { answer(t, cfg, answers, i) })
	}
	side.Wait()
	got := record(answers)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(answersFile, []byte(got), 0o644))
	}
	want := must.Text(answersFile)
	if got != want {
		t.Errorf("the answers are not those in %s; if that is meant, UPDATE=1 go test -run %s ./flex/plan, and read what has changed",
			answersFile, t.Name())
	}
}

// answer computes the answers to all states that start with the numbered base. It reports the first
// answer that breaks a rule.
func answer(t *testing.T, cfg *config.Config, answers [][]string, base int) {
	part, wrong := len(answers)/len(stateAxes[0].values), []string(nil)
	for i := base * part; i < (base+1)*part; i++ {
		state := stateOf(combination(stateAxes, i))
		for j := range combinations(aroundAxes) {
			around := combination(aroundAxes, j)
			snap := lone(state, around)
			p := plan.Compute(scene.Of(cfg, snap))
			answers[i] = append(answers[i], inLetters(p))
			if len(p.Actions) == 0 || len(wrong) > 0 {
				continue
			}
			if wrong = broken(sightOf(cfg, snap), p); len(wrong) > 0 {
				t.Errorf("%s, %s: %s", state, strings.Join(around, " "), strings.Join(wrong, "; "))
			}
		}
	}
}

// stateOf returns a node's state for the values of its axes.
func stateOf(values []string) slurm.State {
	words := values[:1:1]
	for i, value := range values {
		if value == "yes" {
			words = append(words, stateAxes[i].name)
		}
	}
	return slurm.ParseState(strings.Join(words, "+"))
}

// record formats the answers as a table, with a numbered column for each class of states with the
// same answers, and a row for each situation around the node.
func record(answers [][]string) string {
	var columns [][]string
	classes := make([]string, len(answers)) // the class of each state
	for i, a := range answers {
		at := slices.IndexFunc(columns, func(c []string) bool { return slices.Equal(c, a) })
		if at < 0 {
			at = len(columns)
			columns = append(columns, a)
		}
		classes[i] = strconv.Itoa(at + 1)
	}
	const cell = "%-4s "
	rows, head := make([]string, len(columns[0])), ""
	for i, c := range columns {
		head += fmt.Sprintf(cell, strconv.Itoa(i+1))
		for j := range rows {
			rows[j] += fmt.Sprintf(cell, c[j])
		}
	}
	text := answersHead + "\nThe states of a node, by how they are treated:\n\n" + table(stateAxes, fold(stateAxes, classes), "treated as")
	text += "\nWhat is done:\n\n"
	for _, l := range letters {
		text += l.letter + "  " + l.means + "\n"
	}
	return text + "\n" + table(aroundAxes, fold(aroundAxes, rows), head)
}

// lone returns a snapshot of one node.
func lone(state slurm.State, around []string) scene.Snapshot {
	kind, jobState, status, requestState := around[0], around[1], around[2], around[3]
	node, set, region := "alpha-a3-0", "a3", america
	if kind == "static" {
		node, set, region = "alpha-one-0", "one", europe
	}
	snap := scene.Snapshot{
		Now:   noon,
		Slurm: scene.Slurm{Nodes: []slurm.Node{{Name: node, State: state, LastBusyTime: noon.Add(-5 * time.Second)}}},
		Compute: scene.Compute{
			Templates: map[string]scene.Template{"projects/demo/global/instanceTemplates/" + set: scenetest.FlexTemplate("a4-highgpu-8g")},
		},
	}
	if jobState != "none" {
		snap.Jobs = []slurm.Job{{
			ID: 1, ArrayID: 1, Partition: "train", State: slurm.JobState(jobState), Nodes: []string{node}, Limit: slurm.ParseLimit("1:00:00"),
		}}
		snap.Records = map[uint32]slurm.JobRecord{1: scenetest.Requeued}
	}
	g := mig.Group{
		Name: "alpha-a3-job-1", Region: region, Created: noon.Add(-time.Hour),
		Stamp: mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set, Job: 1},
	}
	if kind == "static" {
		g.Name, g.Stamp.Job, g.Stamp.Node = "alpha-one-node-0", 0, node
	}
	if requestState != "none" {
		r := mig.Request{
			Name: "a1", State: mig.RequestState(requestState), Instances: []string{node}, Duration: mig.MaxDuration, Created: noon.Add(-30 * time.Second),
		}
		if r.State == mig.Failed {
			r.Cause, r.Message = mig.CauseCapacity, "STOCKOUT: none"
		}
		g.Requests = []mig.Request{r}
	}
	if status != "none" {
		g.TargetSize = 1
		snap.Instances = []mig.Instance{{
			Name: node, Zone: region + "-b", Region: region, Group: g.Name, Status: status, Model: mig.FlexStart, Created: noon.Add(-time.Minute),
		}}
	}
	if len(g.Requests) > 0 || len(snap.Instances) > 0 {
		snap.Groups = []mig.Group{g}
	}
	return snap
}

// letters are all actions that a plan may take on one node.
var letters = []struct {
	letter, means string
	is            func(action.Action) bool
}{
	{"M", "make the group", does[action.CreateGroup]},
	{"A", "ask for the machine", does[action.CreateRequest]},
	{"C", "cancel the request", does[action.CancelRequest]},
	{"D", "delete the machine", does[action.DeleteInstances]},
	{"G", "delete the group", does[action.DeleteGroup]},
	{"T", "tell the job's owner", does[action.CommentJob]},
	{"f", "power_down_force", sets("power_down_force")},
	{"d", "power_down: when its job ends", sets("power_down")},
	{"u", "power_up", sets("power_up")},
	{"r", "resume", sets("resume")},
	{"w", "nothing, but look again in seconds", nil},
	{".", "nothing", nil},
}

func does[A action.Action](a action.Action) bool {
	_, ok := a.(A)
	return ok
}

func sets(state string) func(action.Action) bool {
	return func(a action.Action) bool {
		change, ok := a.(action.SetNodes)
		return ok && change.State == state
	}
}

// inLetters formats a plan's actions as one letter each, and actions without a letter in full.
func inLetters(p plan.Plan) string {
	text := ""
	for _, a := range p.Actions {
		word := action.About(a).Text
		for _, l := range letters {
			if l.is != nil && l.is(a) {
				word = l.letter
			}
		}
		text += word
	}
	switch {
	case text != "":
		return text
	case p.Soon:
		return "w"
	}
	return "."
}

// axis is one dimension of a combination, with its values.
type axis struct {
	name   string
	values []string
}

// flag returns the axis of a flag in a node's state.
func flag(name string) axis { return axis{name, []string{"no", "yes"}} }

// combinations returns the number of combinations of one value per axis.
func combinations(axes []axis) int {
	n := 1
	for _, a := range axes {
		n *= len(a.values)
	}
	return n
}

// combination returns the i-th combination. The last axis varies fastest.
func combination(axes []axis, i int) []string {
	values := make([]string, len(axes))
	for at := len(axes) - 1; at >= 0; at-- {
		n := len(axes[at].values)
		values[at] = axes[at].values[i%n]
		i /= n
	}
	return values
}

// folded is the answer to all combinations that match its conditions. There is one condition per
// axis: some of its values, or nothing if the axis makes no difference.
type folded struct {
	conditions []string
	answer     string
}

// fold merges the answers to all combinations into few lines. Values of an axis share a line if
// they make no difference to anything after the axis.
func fold(axes []axis, answers []string) []folded {
	if len(axes) == 0 {
		return []folded{{nil, answers[0]}}
	}
	size := len(answers) / len(axes[0].values)
	var classes [][]string // classes of equal answers
	var members [][]string // the values in each class
	for i, value := range axes[0].values {
		part := answers[i*size : (i+1)*size]
		at := slices.IndexFunc(classes, func(c []string) bool { return slices.Equal(c, part) })
		if at < 0 {
			at = len(classes)
			classes, members = append(classes, part), append(members, nil)
		}
		members[at] = append(members[at], value)
	}
	var lines []folded
	for i, part := range classes {
		condition := ""
		if len(classes) > 1 {
			condition = strings.Join(members[i], "|")
		}
		for _, line := range fold(axes[1:], part) {
			line.conditions = append([]string{condition}, line.conditions...)
			lines = append(lines, line)
		}
	}
	return lines
}

// table formats lines under the axes' names, with each line's answer at its end. head is the
// heading of the answers.
func table(axes []axis, lines []folded, head string) string {
	widths := make([]int, len(axes))
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i], widths[i] = a.name, len(a.name)
		for _, line := range lines {
			widths[i] = max(widths[i], len(line.conditions[i]))
		}
	}
	text := ""
	for _, line := range append([]folded{{names, head}}, lines...) {
		row := ""
		for i, condition := range line.conditions {
			row += fmt.Sprintf("%-*s  ", widths[i], condition)
		}
		text += strings.TrimRight(row+line.answer, " ") + "\n"
	}
	return text
}
