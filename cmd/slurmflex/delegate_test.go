package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// delegating returns a world with other nodes alpha-cpu-0 and alpha-cpu-1. The programs for these
// nodes record their calls and exit with 7.
func delegating(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.configure(t, "slurmflex:\n", `  cpu: {nodeset_name: cpu, node_count_dynamic_max: 2}
slurmflex:
  delegate: {resume_program: DIR/bin/others-resume, suspend_program: DIR/bin/others-suspend}
`)
	for _, program := range []string{"resume", "suspend"} {
		w.write(t, "bin/others-"+program, `#!/bin/sh
printf '%s\n' "$0" "$@" >DIR/delegated
tr '\0' '\n' </proc/$$/environ >DIR/environ
exit 7
`)
	}
	return w
}

// requireDelegated asserts which of the other nodes' programs was called last, and its argument.
func (w *world) requireDelegated(t *testing.T, program, hostlist string) {
	t.Helper()
	b, err := os.ReadFile(w.path("delegated"))
	require.NoError(t, err)
	require.Equal(t, w.path("bin/"+program)+"\n"+hostlist+"\n", string(b))
}

func TestOtherNodesArePassedUnchangedToTheirProgram(t *testing.T) {
	for verb, program := range map[string]string{
		"resume": "others-resume", "suspend": "others-suspend", "resume-fail": "others-suspend",
	} {
		t.Run(verb, func(t *testing.T) {
			w := delegating(t)
			const unfolded = "alpha-cpu-1,alpha-cpu-[0]"
			r := w.hook(t, verb, unfolded, w.resumeFile(t)).exits(t, 7)
			r.saysNothing(t)
			r.settle(t)
			w.requireDelegated(t, program, unfolded)
			environ, err := os.ReadFile(w.path("environ"))
			require.NoError(t, err)
			assert.ElementsMatch(t, append(r.Env, "SLURMFLEX_DELEGATED=1"), strings.Split(strings.TrimSpace(string(environ)), "\n"))
			assert.Empty(t, w.calls(t), "no pass started")
		})
	}
}

func TestUnknownNodesAreNamedAndDoNotStopOthers(t *testing.T) {
	w := delegating(t)
	w.waiting(t)
	const call = "alpha-a3-[0-1],beta-a3-0,alpha-a3-99,alpha-cpu-0"
	w.hook(t, "resume", call, w.resumeFile(t)).exits(t, 7).settle(t)
	w.requireDelegated(t, "others-resume", "alpha-cpu-0")
	w.requireAsked(t)
	require.Len(t, w.log(t, "error"), 1)
	assert.Contains(t, w.log(t, "error")[0], `"unknown":"alpha-a3-99,beta-a3-0"`)
}

func TestCallForOnlyUnknownNodesIsLogged(t *testing.T) {
	w := newWorld(t)
	w.hook(t, "suspend", "beta-[0-1]").exits(t, exitDone).saysNothing(t)
	require.Len(t, w.log(t, "error"), 1)
	assert.Contains(t, w.log(t, "error")[0], `"unknown":"beta-[0-1]"`)
	assert.Empty(t, w.calls(t))
}

func TestOtherNodesWithoutAProgramAreLeftAlone(t *testing.T) {
	w := delegating(t)
	w.configure(t, "  delegate: {resume_program: "+w.path("bin/others-resume")+", suspend_program: "+w.path("bin/others-suspend")+"}\n", "")
	r := w.hook(t, "suspend", "alpha-cpu-[0-1]").exits(t, exitDone)
	r.saysNothing(t)
	require.Len(t, w.log(t, "warn"), 1)
	assert.Contains(t, w.log(t, "warn")[0], "slurmflex.delegate names no program")
	assert.Contains(t, w.log(t, "warn")[0], `"others":"alpha-cpu-[0-1]"`)
}

func TestFailingDelegateDoesNotStopFlexNodes(t *testing.T) {
	w := delegating(t)
	w.waiting(t)
	require.NoError(t, os.Remove(w.path("bin/others-resume")))
	r := w.hook(t, "resume", "alpha-a3-[0-1],alpha-cpu-0", w.resumeFile(t)).exits(t, exitFailed)
	r.complains(t, "delegate "+w.path("bin/others-resume")+" alpha-cpu-0: no such file or directory")
	r.settle(t)
	w.requireAsked(t)
	assert.Len(t, w.log(t, "error"), 1)
}

func TestOtherNodesAreDelegatedEvenIfFlexNodesFail(t *testing.T) {
	w := delegating(t)
	require.NoError(t, os.Remove(w.path("run")))
	w.waiting(t)
	w.hook(t, "resume", "alpha-a3-[0-1],alpha-cpu-0", w.resumeFile(t)).exits(t, 7)
	w.requireDelegated(t, "others-resume", "alpha-cpu-0")
	require.Len(t, w.updates(t), 1)
	assert.Contains(t, w.updates(t)[0], "nodename=alpha-a3-[0-1] state=power_down_force")
}

// C16: SlurmUser must not run a program that another user can change.
func TestDelegateWritableByOthersIsNotRun(t *testing.T) {
	w := delegating(t)
	require.NoError(t, os.Chmod(w.path("bin/others-resume"), 0o777))
	r := w.hook(t, "resume", "alpha-cpu-0", w.resumeFile(t)).exits(t, exitFailed)
	r.complains(t, "delegate "+w.path("bin/others-resume")+" alpha-cpu-0: ", "is writable by other users (mode 0777); run chmod go-w ")
	assert.NoFileExists(t, w.path("delegated"))
	assert.Len(t, w.log(t, "error"), 1)
}

func TestDelegateThatCallsSlurmflexEndsWithAnError(t *testing.T) {
	w := delegating(t)
	w.write(t, "bin/others-resume", "#!/bin/sh\necho x >>DIR/calls-of-delegate\nexec "+os.Args[0]+" resume --config DIR/config.yaml \"$1\"\n")
	w.hook(t, "resume", "alpha-cpu-[0-1]", w.resumeFile(t)).exits(t, exitFailed).complains(t, "it has called slurmflex again")
	b, err := os.ReadFile(w.path("calls-of-delegate"))
	require.NoError(t, err)
	assert.Equal(t, "x\n", string(b))
	assert.Len(t, w.log(t, "error"), 1)
}
