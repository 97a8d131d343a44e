package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// delegating returns a world with other nodes alpha-cpu-0 and alpha-cpu-1. The programs for these
// nodes record their calls and exit with 7.
func delegating(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.configure("slurmflex:\n", `  cpu: {nodeset_name: cpu, node_count_dynamic_max: 2}
slurmflex:
  delegate: {resume_program: DIR/bin/others-resume, suspend_program: DIR/bin/others-suspend}
`)
	for _, program := range []string{"resume", "suspend"} {
		w.write("bin/others-"+program, `#!/bin/sh
printf '%s\n' "$0" "$@" >DIR/delegated
tr '\0' '\n' </proc/$$/environ >DIR/environ
exit 7
`)
	}
	return w
}

// requireDelegated asserts which of the other nodes' programs was called last, and its argument.
func (w *world) requireDelegated(program, hostlist string) {
	w.Helper()
	require.Equal(w, w.path("bin/"+program)+"\n"+hostlist+"\n", must.Text(w.path("delegated")))
}

func TestOtherNodesArePassedUnchangedToTheirProgram(t *testing.T) {
	for verb, program := range map[string]string{
		"resume": "others-resume", "suspend": "others-suspend", "resume-fail": "others-suspend",
	} {
		t.Run(verb, func(t *testing.T) {
			w := delegating(t)
			const unfolded = "alpha-cpu-1,alpha-cpu-[0]"
			r := w.hook(verb, unfolded, w.resumeFile()).exits(7)
			r.saysNothing()
			r.settle()
			w.requireDelegated(program, unfolded)
			assert.ElementsMatch(t, append(r.Env, "SLURMFLEX_DELEGATED=1"), strings.Split(strings.TrimSpace(must.Text(w.path("environ"))), "\n"))
			assert.Empty(t, w.calls(), "no pass started")
		})
	}
}

func TestUnknownNodesAreNamedAndDoNotStopOthers(t *testing.T) {
	w := delegating(t)
	w.waiting()
	const call = "alpha-a3-[0-1],beta-a3-0,alpha-a3-99,alpha-cpu-0"
	w.resume(call).exits(7).settle()
	w.requireDelegated("others-resume", "alpha-cpu-0")
	w.requireAsked()
	w.logged("error", `"unknown":"alpha-a3-99,beta-a3-0"`)
}

func TestOtherNodesWithoutAProgramAreLeftAlone(t *testing.T) {
	w := delegating(t)
	w.configure("  delegate: {resume_program: "+w.path("bin/others-resume")+", suspend_program: "+w.path("bin/others-suspend")+"}\n", "")
	w.hook("suspend", "alpha-cpu-[0-1]").exits(exitDone).saysNothing()
	w.logged("warn", "slurmflex.delegate names no program", `"others":"alpha-cpu-[0-1]"`)
}

func TestOtherNodesAreDelegatedEvenIfFlexNodesFail(t *testing.T) {
	w := delegating(t)
	w.remove("run")
	w.waiting()
	w.resume("alpha-a3-[0-1],alpha-cpu-0").exits(7)
	w.requireDelegated("others-resume", "alpha-cpu-0")
	require.Len(t, w.updates(), 1)
	assert.Contains(t, w.updates()[0], "nodename=alpha-a3-[0-1] state=power_down_force")
}

// C16: SlurmUser must not run a program that another user can change.
func TestDelegateWritableByOthersIsNotRun(t *testing.T) {
	w := delegating(t)
	require.NoError(t, os.Chmod(w.path("bin/others-resume"), 0o777))
	r := w.resume("alpha-cpu-0").exits(exitFailed)
	r.complains("delegate "+w.path("bin/others-resume")+" alpha-cpu-0: ", "is writable by other users (mode 0777); run chmod go-w ")
	assert.NoFileExists(t, w.path("delegated"))
	w.logged("error")
}

func TestDelegateThatCallsSlurmflexEndsWithAnError(t *testing.T) {
	w := delegating(t)
	w.write("bin/others-resume", "#!/bin/sh\necho x >>DIR/calls-of-delegate\nexec "+os.Args[0]+" resume --config DIR/config.yaml \"$1\"\n")
	w.resume("alpha-cpu-[0-1]").exits(exitFailed).complains("it has called slurmflex again")
	assert.Equal(t, "x\n", must.Text(w.path("calls-of-delegate")))
	w.logged("error")
}
