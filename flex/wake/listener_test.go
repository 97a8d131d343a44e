package wake

import (
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/test/must"
)

// C12: hooks find the daemon again after run_dir was cleaned. The daemon does not remove a foreign file in the
// socket's place. It logs that once.
func TestBlockedSocketIsLoggedOnceAndCreatedLater(t *testing.T) {
	path, wakeUps, log := heard(t, "alpha")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.Eventually(t, func() bool { return log.Len() > 0 }, time.Minute, time.Millisecond)
	assert.ErrorContains(t, log.All()[0].Context[0].Interface.(error), path+" is not a socket; remove it")
	require.NoError(t, os.Remove(path))
	require.Eventually(t, func() bool { return Send(t.Context(), path, someWakeUp) == nil }, time.Minute, time.Millisecond)
	assert.Equal(t, someWakeUp, <-wakeUps)
	require.Eventually(t, func() bool { return log.Len() == 2 }, time.Minute, time.Millisecond)
	assert.Equal(t, "socket was removed; listening on a new one; find what cleans slurmflex.run_dir", log.All()[1].Message)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSocket|0o600, info.Mode())
}

// C10: two clusters have configurations with the same run_dir.
func TestWakeUpOfAnotherClusterIsRejected(t *testing.T) {
	path, wakeUps, log := heard(t, "beta")
	err := send(t, path, someWakeUp)
	require.ErrorAs(t, err, new(UnreceiptedError), "the hook is to do the work itself")
	assert.EqualError(t, err, "the daemon at "+path+` refused the wake-up: "cluster beta; give each cluster a slurmflex.run_dir of its own\n"`)
	assert.Empty(t, wakeUps)
	require.NotZero(t, log.Len())
	assert.Contains(t, log.All()[0].Message, "it is for another cluster")

	require.NoError(t, send(t, path, Call{Verb: "resume"}), "a hook that cannot know its cluster may wake any daemon")
	assert.Len(t, wakeUps, 1)
}

// C11: silent callers use only their share of file descriptors, and are hung up on.
func TestParallelReadsOfWakeUpsAreLimited(t *testing.T) {
	path, wakeUps := listening(t)
	before := openFiles(t)
	var mute net.Conn
	for range 4 * hooksTaken {
		var err error
		mute, err = net.Dial("unix", path)
		require.NoError(t, err)
		defer mute.Close()
	}
	assert.LessOrEqual(t, openFiles(t)-before-4*hooksTaken, hooksTaken, "the daemon's ends of them")
	require.Eventually(t, func() bool { return Send(t.Context(), path, someWakeUp) == nil }, time.Minute, time.Millisecond, "their turn passes")
	assert.Equal(t, someWakeUp, <-wakeUps)
	_, err := mute.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
}

func openFiles(t *testing.T) int {
	t.Helper()
	return len(must.Get(os.ReadDir("/proc/self/fd")))
}

// The listener acknowledges or hangs up on any input, in any pieces, and then serves the next
// caller.
func FuzzPieces(f *testing.F) {
	f.Add([]byte(`{"verb":"resume","nodes":"alpha-a3-[0-3]","jobs":[812]}`+"\n"), uint8(1))
	f.Add([]byte(`{"verb":"resume","nodes":"alpha-a3-0"}{"verb":"suspend","nodes":"alpha-a3-1"}`), uint8(30))
	f.Add([]byte(`{"verb":"\ud800","jobs":[4294967296]}`), uint8(5))
	f.Add([]byte(`{"nodes":`+strings.Repeat("[", 1<<20)), uint8(255))
	f.Add([]byte(`{"verb":"`+strings.Repeat("x", wakeUpSize)+`"}`), uint8(255))
	f.Add([]byte{}, uint8(0))
	path, wakeUps := listening(f)
	f.Fuzz(func(t *testing.T, bytes []byte, size uint8) {
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer conn.Close()
		for piece := range slices.Chunk(bytes, int(size)+1) {
			if _, err := conn.Write(piece); err != nil {
				break // the daemon has stopped reading
			}
		}
		_ = conn.(*net.UnixConn).CloseWrite()
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		answer, err := io.ReadAll(conn)
		if err != nil { // the daemon has left some input unread
			require.ErrorIs(t, err, unix.ECONNRESET)
		}
		select {
		case <-wakeUps:
		default:
			require.Empty(t, answer)
		}
		require.Contains(t, []string{"", "ok\n"}, string(answer))
		require.NoError(t, send(t, path, someWakeUp))
		require.Equal(t, someWakeUp, <-wakeUps)
	})
}
