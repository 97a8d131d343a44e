package scontrol

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// Whatever a command prints and however it ends, there are nodes or an error of
// one line, and a command that failed has told of no nodes.
func FuzzWhatACommandPrints(f *testing.F) {
	f.Add("", "scontrol: error: slurm_load_node error: Unable to contact slurm controller (connect failure)\n", 1)
	f.Add("No nodes in the system\n", "", 0)
	f.Add("NodeName=f0 Arch=x86_64 OS=Linux RealMemory=1 State=IDLE+CLOUD Partitions=p BootTime=None LastBusyTime=Unknown\n", "a warning\n", 0)
	f.Add("NodeName=f0 RealMemory=1 State=IDLE BootTime=None\nNodeName=f0 RealMemory=1 State=IDLE BootTime=None\n", "", 0)
	f.Add("\x00\xff\n\n", "fatal: \x1b[31m\n\n\nsquint\u2028x", 255)
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		c := newClient(t, dummy{Stdout: stdout, Stderr: stderr, Exit: exit & 0xff})
		nodes, err := c.Nodes(t.Context())
		if exit&0xff != 0 {
			require.Error(t, err)
		}
		if err != nil {
			for _, node := range nodes { // of those that could not be read the names are known
				require.Zero(t, exit&0xff)
				require.ErrorAs(t, err, new(slurm.Unread))
				require.NotEmpty(t, node.Name)
			}
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), maxCall+2*maxWords)
		}
	})
}

// The words of a failure are a short line, the same when they are read again.
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
