package scontrol

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// dummy configures a test's commands. The commands are the test binary itself under the names
// of Slurm's commands. They read their dummy from the file in SLURM_CONF.
type dummy struct {
	Stdout, Stderr string
	Exit           int
	Refuse         string // exit with 1 if an argument or the input contains this text
	Hang           bool   // never end
	Leave          bool   // end, but leave a process that keeps stdout open
	Flood          bool   // print without end
	NoHeader       bool   // squeue prints no header

	// Instead replaces the dummy for a command with the key as its last argument.
	Instead map[string]dummy
}

// programs are the commands that the tests' clients may run.
var programs = []string{"scontrol", "squeue", "scancel"}

// call is one run of a dummy command.
type call struct {
	Args  []string
	Input string
	Env   []string
	PID   int
}

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains(programs, name) {
		syscall.Exit(beDummy(name)) // os.Exit of a race-detecting binary takes a second
	}
	os.Exit(m.Run())
}

// beDummy runs as the dummy command.
func beDummy(name string) int {
	conf := os.Getenv("SLURM_CONF")
	var d dummy
	must.Do(json.Unmarshal(must.Get(os.ReadFile(conf)), &d))
	if name == "scontrol" && len(os.Args) == 2 && os.Args[1] == "linger" {
		record(conf, name, "")
		must.Do(os.NewFile(3, "begun").Close())
		time.Sleep(time.Hour)
	}
	input := ""
	if len(os.Args) == 1 {
		input = string(must.Get(io.ReadAll(os.Stdin)))
	}
	record(conf, name, input)
	if instead, found := d.Instead[os.Args[len(os.Args)-1]]; found {
		d = instead
	}
	if name == "squeue" && d.Exit == 0 && !d.NoHeader {
		fmt.Println("JOBID|JOBID")
	}
	fmt.Print(strings.ReplaceAll(d.Stdout, markOfCall, markIn(os.Args)))
	fmt.Fprint(os.Stderr, d.Stderr)
	for d.Flood {
		fmt.Println(strings.Repeat("x", 1000))
	}
	if d.Hang || d.Leave {
		child := exec.Command(os.Args[0], "linger")
		child.Stdout = os.Stdout
		begun, begins, err := os.Pipe()
		must.Do(err)
		child.ExtraFiles = []*os.File{begins}
		must.Do(child.Start())
		must.Do(begins.Close())
		must.Get(io.ReadAll(begun)) // until the left process has recorded itself
	}
	if d.Hang {
		time.Sleep(time.Hour)
	}
	if d.Refuse != "" && strings.Contains(strings.Join(os.Args, " ")+input, d.Refuse) {
		fmt.Fprintln(os.Stderr, "slurm_update error: Invalid node name specified")
		return 1
	}
	return d.Exit
}

// markOfCall is a placeholder in a dummy's output for the mark of the call.
const markOfCall = "MARK-OF-CALL"

// markIn returns the mark of slurm.JobRecordFormat, slurm.ChargeFormat, slurm.SqueueFormat or
// slurm.AccountFormat in a call's arguments.
func markIn(args []string) string {
	for _, arg := range args {
		if _, after, found := strings.Cut(arg, "JobID:|"); found {
			return after[:strings.IndexAny(after, "|<")]
		}
		if before, _, found := strings.Cut(arg, "<%"); found {
			return before[strings.LastIndex(before, "|")+1:]
		}
	}
	return markOfCall
}

// record writes a record of this run next to the configuration.
func record(conf, name, input string) {
	note := must.Get(json.Marshal(call{Args: append([]string{name}, os.Args[1:]...), Input: input, Env: os.Environ(), PID: os.Getpid()}))
	path := fmt.Sprintf("%s.%d.%d", conf, time.Now().UnixNano(), os.Getpid())
	must.Do(os.WriteFile(path+".part", note, 0o600))
	must.Do(os.Rename(path+".part", path+".call"))
}

// newClient returns a client that runs dummies as its commands.
func newClient(t *testing.T, d dummy) *Client {
	t.Helper()
	dir := t.TempDir()
	for _, name := range programs {
		must.Do(os.Symlink(must.Get(os.Executable()), filepath.Join(dir, name)))
	}
	conf := filepath.Join(dir, "conf")
	must.Do(os.WriteFile(conf, must.Get(json.Marshal(d)), 0o600))
	return &Client{BinDir: dir, Conf: conf}
}

// calls returns the runs of the client's commands so far, in order.
func calls(t *testing.T, c *Client) []call {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(c.BinDir, "conf.*.call")))
	list := make([]call, len(paths))
	for i, path := range paths {
		require.NoError(t, json.Unmarshal(must.Get(os.ReadFile(path)), &list[i]))
	}
	return list
}

// awaitCalls waits until the client's commands have run n times.
func awaitCalls(t *testing.T, c *Client, n int) []call {
	t.Helper()
	require.Eventually(t, func() bool { return len(calls(t, c)) >= n }, time.Minute, 5*time.Millisecond)
	return calls(t, c)
}

// requireGone waits until a process has ended. A zombie counts as ended.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 5*time.Millisecond)
}

func fixture(t *testing.T, version, name string) string {
	t.Helper()
	return must.Text(filepath.Join("..", "testdata", version, name))
}
