// Package lua runs job_submit.lua and the example of a cli_filter.lua as slurmctld and sbatch
// do.
package lua

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"slurmflex/config"
	"slurmflex/flex/setup"
	"slurmflex/mig"
	"slurmflex/test/must"
)

// submitted has a partition for each limit in job_submit.lua, a partition with one foreign
// node, and a partition with only foreign nodes.
const submitted = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
  both: {partition_name: both, partition_nodeset: [a3, near]}
  near: {partition_name: near, partition_nodeset: [near]}
  mixed: {partition_name: mixed, enable_job_exclusive: true, partition_nodeset: [a3, cpu]}
  cpu: {partition_name: cpu, partition_nodeset: [cpu]}
  long: {partition_name: long, partition_nodeset: [long]}
  'a"b\]]$(touch x)''': {partition_nodeset: [near]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_static: 2
    node_count_dynamic_max: 6
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: &subnet projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: &zones [us-central1-a]
    dws_flex: {use_job_duration: true, job_duration_margin: 600}
  near:
    nodeset_name: near
    node_count_dynamic_max: 40
    enable_placement: true
    placement_max_distance: 1
    instance_template: projects/demo/global/instanceTemplates/near
    subnetwork: *subnet
    zone_policy_allow: *zones
    dws_flex: {max_run_duration: 3600}
  cpu: {nodeset_name: cpu, node_count_static: 1}
  long:
    nodeset_name: long
    node_count_dynamic_max: 4
    instance_template: projects/demo/global/instanceTemplates/near
    subnetwork: *subnet
    zone_policy_allow: *zones
    dws_flex: {max_run_duration: 3600, on_lease_end: requeue}
`

const odd = `a"b\]]$(touch x)'`

func submittedInput(t *testing.T) setup.Input {
	t.Helper()
	cfg := must.Get(config.Parse("alpha.yaml", []byte(submitted)))
	in := setup.Input{Config: cfg, Machines: map[string]setup.Machine{}}
	for set, name := range map[string]string{"a3": "a3-megagpu-8g", "near": "h4d-standard-192", "long": "h4d-standard-192"} {
		m, known := mig.KnownMachine(name)
		require.True(t, known)
		in.Machines[set] = setup.Machine{MachineType: m, Source: "here"}
	}
	return in
}

// fields are the fields of a job description or of a command's options.
type fields map[string]lua.LValue

// with adds fields, each as a name and a value.
func (f fields) with(more ...any) fields {
	for i := 0; i < len(more); i += 2 {
		switch value := more[i+1].(type) {
		case int:
			f[more[i].(string)] = lua.LNumber(value)
		case lua.LNumber:
			f[more[i].(string)] = value
		case string:
			f[more[i].(string)] = lua.LString(value)
		}
	}
	return f
}

// in returns a job that requests GPUs in a partition.
func in(partition string) fields {
	return fields{}.with("partition", partition, "tres_per_node", "gres/gpu:8")
}

// slurmctld runs a job_submit.lua as slurmctld does.
type slurmctld struct {
	job *lua.LTable // the last submitted job
	*lua.LState
	told []string
}

// unset is Slurm's NO_VAL and unlimited its INFINITE. Source: slurm.h.
const (
	unset     = lua.LNumber(4294967294)
	unlimited = lua.LNumber(4294967295)
)

// Answers to a submission. Source: slurm_errno.h.
const (
	accepted     = 0
	refused      = -1
	invalidNodes = 2006
	invalidTime  = 2051
)

// load runs a Lua plugin file with the names that Slurm's plugins define.
func load(t *testing.T, text string) *slurmctld {
	t.Helper()
	s := &slurmctld{LState: lua.NewState()}
	t.Cleanup(s.Close)
	slurm := s.NewTable()
	for name, value := range map[string]lua.LNumber{
		"SUCCESS": accepted, "ERROR": refused, "NO_VAL": unset, "ESLURM_INVALID_NODE_COUNT": invalidNodes, "ESLURM_INVALID_TIME_LIMIT": invalidTime,
	} {
		slurm.RawSetString(name, value)
	}
	for _, log := range []string{"log_user", "log_info", "log_error"} {
		slurm.RawSetString(log, s.NewFunction(func(l *lua.LState) int {
			assert.Equal(t, "%s", l.CheckString(1), "a format of ours")
			s.told = append(s.told, l.CheckString(2))
			return 0
		}))
	}
	s.SetGlobal("slurm", slurm)
	require.NoError(t, s.DoString(text))
	return s
}

func jobSubmitted(t *testing.T, levels map[string]string) *slurmctld {
	t.Helper()
	text, err := setup.JobSubmit(submittedInput(t), levels)
	require.NoError(t, err)
	return load(t, text)
}

// submits returns the answer to a job with these fields, and the messages to its user.
func (s *slurmctld) submits(t *testing.T, given fields) (code int, told []string) {
	t.Helper()
	job := s.NewTable()
	s.job = job
	for _, field := range []string{"time_limit", "time_min", "min_nodes", "max_nodes"} {
		job.RawSetString(field, unset)
	}
	job.RawSetString("requeue", lua.LNumber(65534))
	for field, value := range given {
		job.RawSetString(field, value)
	}
	parts := s.NewTable()
	for p, limit := range map[string]lua.LNumber{"both": 60, "cpu": unset, "mixed": unset, "near": unset, "train": 60} {
		part := s.NewTable()
		part.RawSetString("default_time", limit)
		part.RawSetString("flag_default", lua.LNumber(strings.Count(p, "near")))
		parts.RawSetString(p, part)
	}
	s.told = nil
	require.NoError(t, s.CallByParam(lua.P{Fn: s.GetGlobal("slurm_job_submit"), NRet: 1}, job, parts, lua.LNumber(1000)))
	code = int(s.CheckNumber(-1))
	s.Pop(1)
	return code, s.told
}

func TestJobSubmitRefusesJobsThatCanNeverStart(t *testing.T) {
	s := jobSubmitted(t, nil)
	for name, c := range map[string]struct {
		job  fields
		code int
		told string
	}{
		"as long as the lease less the margin": {in("train").with("time_limit", 7*24*60-10), accepted, ""},
		"a minute longer":                      {in("train").with("time_limit", 7*24*60-9), invalidTime, "partition train: nodes stay for at most 6-23:50:00; use --time=6-23:50:00 or less"},
		"longer, in the default partition":     {fields{}.with("time_limit", 61), invalidTime, "partition near: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		"longer, and requeued at each end":     {in("long").with("time_limit", unlimited), accepted, ""},
		"more than two nodesets have":          {in("both").with("min_nodes", 49), invalidNodes, "partition both: the job needs more nodes than there are; use --nodes=48 or fewer"},
		"more nodes than ours, with others":    {in("mixed").with("min_nodes", 9, "time_limit", 60), accepted, ""},
		"no GPUs, maybe none there":            {fields{}.with("partition", "mixed", "time_limit", 60), accepted, ""},
		"no --time, a DefaultTime":             {in("train"), accepted, ""},
		"known words in its comment":           {in("train").with("comment", "x slurmflex:wait=90m,hold;slurmflex:signal"), accepted, ""},
		"a wrong unit":                         {in("train").with("comment", "slurmflex:wait=2x,hold"), accepted, "partition train: slurmflex ignores slurmflex:wait=2x in --comment; use slurmflex:wait=2h (s, m, h, d) or slurmflex:signal"},
	} {
		t.Run(name, func(t *testing.T) {
			code, told := s.submits(t, c.job)
			assert.Equal(t, c.code, code)
			assert.Equal(t, c.told, strings.Join(told, "\n"))
		})
	}
}

func TestJobSubmitRulesFollowTheirSettings(t *testing.T) {
	breaks := map[string]fields{
		"time":       in("near").with("time_limit", unlimited),
		"nodes":      in("train").with("min_nodes", 9),
		"placement":  in("near").with("min_nodes", 23),
		"gpus":       fields{}.with("partition", "train"),
		"requeue":    in("near").with("requeue", 0),
		"no_time":    in("mixed"),
		"comment":    in("near").with("comment", "slurmflex:wiat=2h"),
		"partitions": in("cpu,near").with("time_limit", unlimited),
	}
	for _, rule := range setup.SubmitRules() {
		for _, level := range setup.SubmitLevels() {
			t.Run(rule.Name+"="+level, func(t *testing.T) {
				code, told := jobSubmitted(t, map[string]string{rule.Name: level}).submits(t, breaks[rule.Name])
				assert.Equal(t, level == "refuse", code != accepted)
				assert.Len(t, told, map[string]int{"refuse": 1, "warn": 1, "off": 0}[level])
			})
		}
	}
}

func TestJobSubmitAcceptsJobsItDoesNotUnderstand(t *testing.T) {
	s := jobSubmitted(t, map[string]string{"gpus": "off"})
	strange := []lua.LValue{
		lua.LNil, lua.LTrue, lua.LString(""), lua.LString(`%s%d"]]` + "\n"), lua.LNumber(-1), lua.LString(strings.Repeat(",", 1000)), s.NewTable(), s.NewFunction(func(*lua.LState) int { return 0 }),
	}
	for _, field := range []string{"partition", "time_limit", "time_min", "min_nodes", "requeue", "tres_per_node", "comment"} {
		for _, value := range strange {
			code, told := s.submits(t, fields{"partition": lua.LString("train"), field: value})
			assert.Equal(t, accepted, code, "%s=%v", field, value)
			assert.Empty(t, told, "%s=%v", field, value)
		}
	}
	require.NoError(t, s.CallByParam(lua.P{Fn: s.GetGlobal("slurm_job_submit"), NRet: 1}, lua.LNil, lua.LNil, lua.LNil))
	assert.EqualValues(t, accepted, s.CheckNumber(-1), "no job at all")
	assert.Len(t, s.told, 1)
	assert.Contains(t, s.told[0], "job_submit.lua of slurmflex: ")
}

func TestNamesInLuaAreQuoted(t *testing.T) {
	for _, name := range []string{odd, "\x00\r\n\t", "é %s \\", "'", strings.Repeat(`\`, 3)} {
		given := submittedInput(t)
		for i := range given.Config.Partitions {
			if p := &given.Config.Partitions[i]; p.Name == odd {
				p.Name = name
			}
		}
		text, err := setup.JobSubmit(given, nil)
		require.NoError(t, err)
		code, told := load(t, text).submits(t, in(name).with("time_limit", unlimited))
		assert.Equal(t, invalidTime, code)
		assert.Contains(t, told[0], "partition "+name+": ")
	}
}

// documentedFilter loads the cli_filter.lua of scripts/examples. It records the commands that
// the filter runs. Each command prints the line wait.
func documentedFilter(t *testing.T) (f *slurmctld, commands *[]string) {
	t.Helper()
	text := must.Text("../../../scripts/examples/cli_filter.lua")
	f, commands = load(t, text), new([]string)
	f.SetGlobal("run", f.NewFunction(func(l *lua.LState) int {
		*commands = append(*commands, l.CheckString(1))
		return 0
	}))
	require.NoError(t, f.DoString(`io.popen = function(command)
		run(command)
		return {read = function() return "wait" end, close = function() end}
	end`))
	return f, commands
}

func TestDocumentedFilterKeepsUserTextOutOfTheShell(t *testing.T) {
	const runs = "[ -t 2 ] && exec timeout -s KILL 1 slurmflex estimate --short --nodes=2 --partition=train </dev/null 2>/dev/null"
	for name, c := range map[string]struct {
		component int
		options   fields
		runs      []string
	}{
		"a job":                     {0, fields{}.with("partition", "train", "nodes", "2"), []string{runs}},
		"shell text behind a count": {0, fields{}.with("partition", "train", "nodes", "2;touch x"), nil},
		"shell text as partition":   {0, fields{}.with("partition", "$(touch x)", "nodes", "2"), nil},
		"a later component":         {1, fields{}.with("partition", "train", "nodes", "2"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, commands := documentedFilter(t)
			options := f.NewTable()
			for name, value := range c.options {
				options.RawSetString(name, value)
			}
			require.NoError(t, f.CallByParam(lua.P{Fn: f.GetGlobal("slurm_cli_pre_submit"), NRet: 1}, options, lua.LNumber(c.component)))
			assert.EqualValues(t, accepted, f.CheckNumber(-1))
			assert.Equal(t, c.runs, *commands)
			assert.Len(t, f.told, len(c.runs))
		})
	}
}
