package scontrol

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

func TestNodesListsNodesOfHiddenPartitions(t *testing.T) {
	c := newClient(t, dummy{Stdout: fixture(t, "24.11.5", "01-exclusive-job-configuring.nodes.txt")})
	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 10)
	require.True(t, nodes[0].State.Has(slurm.PoweringUp))
	_, err = c.NodesNamed(t.Context(), []string{"f1", "f0"})
	require.NoError(t, err)
	for _, name := range []string{"ALL", "f[0-1]"} {
		_, err = c.NodesNamed(t.Context(), []string{name})
		require.ErrorContains(t, err, "is not the name of one node")
	}
	require.Equal(t, []string{"scontrol -a -o show nodes", "scontrol -a -o show nodes f[0-1]"}, asked(t, c))
}

func TestJobsAreReadByOneSqueue(t *testing.T) {
	c := newClient(t, dummy{Stdout: "8|8|N/A|UNLIMITED|RUNNING|f[0-1]|2026-11-21T03:00:00|42|flex|bob|ml|2|4|1|0|(null)|||(null)|" + markOfCall + "<(null)>" + markOfCall + "|" + markOfCall + "<gres/gpu:8\n>" + markOfCall + "|None\n"})
	jobs, err := c.Jobs(t.Context())
	require.NoError(t, err)
	require.Equal(t, uint32(8), jobs[0].ID)
	require.Equal(t, []string{"f0", "f1"}, jobs[0].Nodes)
	require.Equal(t, []string{"squeue -a -o %A|%i|%K|%l|%T|%N|%S|%Q|%P|MARK<%u>MARK|MARK<%a>MARK|%D|%C|%c|%m|%Y|MARK<%n>MARK|MARK<%x>MARK|%v|MARK<%f>MARK|MARK<%b>MARK|MARK<%r>MARK"}, asked(t, c))
}

func TestThrottleIsReadFromTheRecordOfOneTask(t *testing.T) {
	c := newClient(t, dummy{Stdout: "JobId=12 ArrayJobId=7 ArrayTaskId=4 ArrayTaskThrottle=2 JobName=wrap UserId=root(0)\n"})
	throttle, err := c.ArrayThrottle(t.Context(), 7, 4)
	require.NoError(t, err)
	require.Equal(t, 2, throttle)
	require.Equal(t, []string{"scontrol -a -o show job 7_4"}, asked(t, c))
}

func TestControllersReportsWhichOnesAnswer(t *testing.T) {
	const banner = "*****************************************\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n*****************************************\n"
	for want, command := range map[string]dummy{
		"[{primary a false} {backup b true}]": {Stdout: "Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n" + banner},
		"[{primary ctl false}]":               {Stdout: fixture(t, "26.05.3", "14-ping-down.txt"), Exit: 1},
	} {
		c := newClient(t, command)
		controllers, err := c.Controllers(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(controllers))
		require.Equal(t, []string{"scontrol ping"}, asked(t, c))
	}
	_, err := newClient(t, dummy{Stderr: "scontrol: fatal: no configuration\n", Exit: 1}).Controllers(t.Context())
	require.EqualError(t, err, "scontrol ping: no configuration")
}

func TestRubbishIsAnErrorAndNotAnEmptyCluster(t *testing.T) {
	for _, out := range []string{"", "\x00\xff\x00", "<html>\n</html>\n"} {
		c := newClient(t, dummy{Stdout: out, NoHeader: true})
		_, err := c.Nodes(t.Context())
		require.Error(t, err)
		_, err = c.Jobs(t.Context())
		require.ErrorContains(t, err, "instead of a header")
		_, err = c.JobRecords(t.Context(), []uint32{1})
		require.ErrorContains(t, err, "instead of a header")
		_, err = c.Allowances(t.Context(), nil)
		require.ErrorContains(t, err, "instead of a header")
		_, err = c.Version(t.Context())
		require.Error(t, err)
		_, err = c.Config(t.Context())
		require.Error(t, err)
		_, err = c.Partitions(t.Context())
		require.Error(t, err)
		_, err = c.Reservations(t.Context())
		require.Error(t, err)
		_, err = c.Controllers(t.Context())
		require.Error(t, err)
	}
}

func TestSlurmErrorsAreRecognised(t *testing.T) {
	folders := must.Get(filepath.Glob("../testdata/*.*.*"))
	require.Len(t, folders, 6)
	for _, folder := range folders {
		version := filepath.Base(folder)
		t.Run(version, func(t *testing.T) {
			c := newClient(t, dummy{Stderr: fixture(t, version, "11-show-job-unknown.txt"), Exit: 1})
			records, err := c.JobRecords(t.Context(), []uint32{99})
			require.NoError(t, err)
			require.Empty(t, records)

			c = newClient(t, dummy{Stderr: fixture(t, version, "11-unknown-node.txt"), Exit: 1})
			err = c.UpdateNodes(t.Context(), []string{"f0", "f1"}, slurm.NodeChange{State: "down"})
			require.ErrorIs(t, err, ErrUnknownNode)
			require.EqualError(t, err, "scontrol update nodename=f[0-1] state=down: Invalid node name specified")

			down, _, _ := strings.Cut(fixture(t, version, "14-nodes-down.txt"), "rc=")
			c = newClient(t, dummy{Stderr: down, Exit: 1})
			_, err = c.Nodes(t.Context())
			require.ErrorIs(t, err, ErrNoController)
			require.EqualError(t, err, "scontrol -a -o show nodes: Unable to contact slurm controller (connect failure)")
		})
	}
}

func TestErrorsQuoteSlurmOnOneLine(t *testing.T) {
	for want, command := range map[string]dummy{
		"cannot stat file /x; Unable to process configuration file": {Stderr: "scontrol: error: cannot stat file /x\n\nscontrol: fatal: Unable to process configuration file\n", Exit: 1},
		"a; b; c":         {Stderr: "a\nb\nc\nd\n", Exit: 1},
		"Job 7 not found": {Stdout: "Job 7 not found\n", Exit: 1},
		"exit status 4":   {Exit: 4},
		"a [31mb c":       {Stderr: "a\x1b[31mb\tc\n", Exit: 1},
	} {
		_, err := newClient(t, command).Version(t.Context())
		require.EqualError(t, err, "scontrol -V: "+want)
	}
	_, err := newClient(t, dummy{Stderr: strings.Repeat("é", 10_000), Exit: 1}).Version(t.Context())
	require.Less(t, len(err.Error()), 400)
	require.True(t, strings.HasSuffix(err.Error(), "é…"))
}

// FuzzOwnWords checks that the text of a failure is a short line, and that shortening it again does
// not change it.
func FuzzOwnWords(f *testing.F) {
	f.Add([]byte("scontrol: error: Invalid job id specified\n"))
	f.Add([]byte("slurm_update error: Invalid node name specified\n\n\nfatal: x"))
	f.Add([]byte("error: \xff\x00\n\u2028Duplicate reservation name"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		words := ownWords(printed)
		require.LessOrEqual(t, len(words), maxWords)
		require.NotContains(t, words, "\n")
		require.True(t, utf8.ValidString(words))
		require.Equal(t, words, plain(words, maxWords))
	})
}
