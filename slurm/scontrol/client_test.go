package scontrol

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestNodesListsNodesOfHiddenPartitions(t *testing.T) {
	c := newClient(t, dummy{Stdout: fixture(t, "24.11.5", "01-exclusive-job-configuring.nodes.txt")})
	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 10)
	require.True(t, nodes[0].State.Has(slurm.PoweringUp))
	require.Equal(t, []string{"scontrol", "-a", "-o", "show", "nodes"}, calls(t, c)[0].Args)
}

func TestNodesNamedReadsOnlyThese(t *testing.T) {
	c := newClient(t, dummy{Stdout: fixture(t, "24.11.5", "01-exclusive-job-configuring.nodes.txt")})
	nodes, err := c.NodesNamed(t.Context(), []string{"f1", "f0"})
	require.NoError(t, err)
	require.NotEmpty(t, nodes)
	require.Equal(t, []string{"scontrol", "-a", "-o", "show", "nodes", "f[0-1]"}, calls(t, c)[0].Args)
	for _, name := range []string{"ALL", "f[0-1]"} {
		_, err = c.NodesNamed(t.Context(), []string{name})
		require.ErrorContains(t, err, "is not the name of one node")
	}
	require.Len(t, calls(t, c), 1)
}

func TestJobsAreReadByOneSqueue(t *testing.T) {
	c := newClient(t, dummy{Stdout: "8|8|N/A|UNLIMITED|RUNNING|f[0-1]|2026-11-21T03:00:00|42|flex|bob|2|4|1|0|(null)|||(null)|" + markOfCall + "<(null)>" + markOfCall + "|" + markOfCall + "<gres/gpu:8\n>" + markOfCall + "|None\n"})
	jobs, err := c.Jobs(t.Context())
	require.NoError(t, err)
	require.Equal(t, uint32(8), jobs[0].ID)
	require.Equal(t, []string{"f0", "f1"}, jobs[0].Nodes)
	require.Equal(t, []string{"squeue -h -a -o %A|%i|%K|%l|%T|%N|%S|%Q|%P|MARK<%u>MARK|%D|%C|%c|%m|%Y|MARK<%n>MARK|MARK<%x>MARK|%v|MARK<%f>MARK|MARK<%b>MARK|MARK<%r>MARK"}, asked(t, c))
}

func TestThrottleIsReadFromTheRecordOfOneTask(t *testing.T) {
	c := newClient(t, dummy{Stdout: "JobId=12 ArrayJobId=7 ArrayTaskId=4 ArrayTaskThrottle=2 JobName=wrap UserId=root(0)\n"})
	throttle, err := c.ArrayThrottle(t.Context(), 7, 4)
	require.NoError(t, err)
	require.Equal(t, 2, throttle)
	require.Equal(t, []string{"scontrol -a -o show job 7_4"}, asked(t, c))
}

// reads returns the client's read methods, each reduced to a few facts of a fixture of 22.05.8.
func reads() map[string]func(context.Context, *Client) (any, error) {
	return map[string]func(context.Context, *Client) (any, error){
		"version.txt": func(ctx context.Context, c *Client) (any, error) {
			version, err := c.Version(ctx)
			return version.String(), err
		},
		"config.txt":         func(ctx context.Context, c *Client) (any, error) { return c.Config(ctx) },
		"partitions.txt":     func(ctx context.Context, c *Client) (any, error) { return c.Partitions(ctx) },
		"09-reservation.txt": func(ctx context.Context, c *Client) (any, error) { return c.Reservations(ctx) },
		"13-ping.txt":        func(ctx context.Context, c *Client) (any, error) { return c.Controllers(ctx) },
	}
}

func TestOtherReadsReturnTheFixture(t *testing.T) {
	for name, says := range map[string]string{
		"version.txt": "22.05.8", "config.txt": "ClusterName:t ", "partitions.txt": "{flex ", "09-reservation.txt": "{slurmflex-eol-x ", "13-ping.txt": "{primary ctl true}",
	} {
		read, err := reads()[name](t.Context(), newClient(t, dummy{Stdout: fixture(t, "22.05.8", name)}))
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(read), says)
	}
}

func TestControllersReportsWhichOnesAnswer(t *testing.T) {
	const banner = "*****************************************\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n*****************************************\n"
	for _, test := range []struct {
		name    string
		command dummy
		want    []slurm.Controller
	}{
		{"slurmctld is up", dummy{Stdout: fixture(t, "22.05.8", "13-ping.txt")}, []slurm.Controller{{Role: "primary", Host: "ctl", Up: true}}},
		{
			"only the backup is up",
			dummy{Stdout: "Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n" + banner},
			[]slurm.Controller{{Role: "primary", Host: "a"}, {Role: "backup", Host: "b", Up: true}},
		},
		{"slurmctld is down", dummy{Stdout: fixture(t, "26.05.3", "14-ping-down.txt"), Exit: 1}, []slurm.Controller{{Role: "primary", Host: "ctl"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, test.command)
			controllers, err := c.Controllers(t.Context())
			require.NoError(t, err)
			require.Equal(t, test.want, controllers)
			require.Equal(t, []string{"scontrol", "ping"}, calls(t, c)[0].Args)
		})
	}
}

func TestUnreadableControllersAreAnError(t *testing.T) {
	for want, command := range map[string]dummy{
		"scontrol ping: no configuration":       {Stderr: "scontrol: fatal: no configuration\n", Exit: 1},
		`scontrol ping: "": about no slurmctld`: {},
	} {
		_, err := newClient(t, command).Controllers(t.Context())
		require.EqualError(t, err, want)
	}
}

func TestRubbishIsAnErrorAndNotAnEmptyCluster(t *testing.T) {
	for _, out := range []string{"", "\x00\xff\x00", "<html>\n</html>\n"} {
		c := newClient(t, dummy{Stdout: out})
		_, err := c.Nodes(t.Context())
		require.Error(t, err)
		_, err = c.JobRecords(t.Context(), []uint32{1})
		require.Equal(t, out == "", err == nil, "squeue prints nothing for an empty queue")
		for name, read := range reads() {
			_, err := read(t.Context(), c)
			require.Error(t, err, name)
		}
	}
}

func TestSlurmErrorsAreRecognised(t *testing.T) {
	folders, err := filepath.Glob("../testdata/*.*.*")
	require.NoError(t, err)
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
	for _, test := range []struct {
		name    string
		command dummy
		want    string
	}{
		{
			"several lines",
			dummy{Stderr: "scontrol: error: cannot stat file /x\n\nscontrol: fatal: Unable to process configuration file\n", Exit: 1},
			"scontrol -V: cannot stat file /x; Unable to process configuration file",
		},
		{"at most three", dummy{Stderr: "a\nb\nc\nd\n", Exit: 1}, "scontrol -V: a; b; c"},
		{"words on stdout", dummy{Stdout: "Job 7 not found\n", Exit: 1}, "scontrol -V: Job 7 not found"},
		{"no words", dummy{Exit: 4}, "scontrol -V: exit status 4"},
		{"control characters", dummy{Stderr: "a\x1b[31mb\tc\n", Exit: 1}, "scontrol -V: a [31mb c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := newClient(t, test.command).Version(t.Context())
			require.EqualError(t, err, test.want)
		})
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
