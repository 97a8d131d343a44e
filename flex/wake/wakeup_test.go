package wake

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

var someWakeUp = Call{Cluster: "alpha", Verb: "resume", Nodes: "alpha-a3-[0-3]", Jobs: []uint32{812, 813}}

// socketPath returns a short path: the kernel rejects paths over 107 bytes.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "flex")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return SocketPath(dir)
}

// listening starts a daemon's listener and returns its path.
func listening(t testing.TB) (path string, wakeUps <-chan Call) {
	t.Helper()
	path = socketPath(t)
	wakeUps, err := Listen(t.Context(), path, "alpha", zap.NewNop())
	require.NoError(t, err)
	return path, wakeUps
}

// heard starts the listener of a cluster's daemon, and returns its log of errors.
func heard(t *testing.T, cluster string) (path string, wakeUps <-chan Call, log *observer.ObservedLogs) {
	t.Helper()
	path = socketPath(t)
	core, log := observer.New(zap.WarnLevel)
	wakeUps, err := Listen(t.Context(), path, cluster, zap.New(core))
	require.NoError(t, err)
	return path, wakeUps, log
}

// send sends a wake-up, and retries if the daemon is late on a busy machine.
func send(t testing.TB, path string, h Call) error {
	t.Helper()
	for {
		err := Send(t.Context(), path, h)
		if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
			return err
		}
	}
}

// arrives sends a wake-up and checks that the daemon receives it.
func arrives(t *testing.T, path string, wakeUps <-chan Call) {
	t.Helper()
	require.NoError(t, send(t, path, someWakeUp))
	assert.Equal(t, someWakeUp, <-wakeUps)
}

func TestSecondWakeUpIsAcknowledgedAndDropped(t *testing.T) {
	path, wakeUps := listening(t)
	require.NoError(t, send(t, path, someWakeUp))
	require.NoError(t, send(t, path, Call{Verb: "suspend", Nodes: "alpha-a3-9"}))
	assert.Equal(t, someWakeUp, <-wakeUps)
	assert.Empty(t, wakeUps)
}

func TestWakeUpForAWholeClusterFits(t *testing.T) {
	path, wakeUps := listening(t)
	h := Call{Verb: "resume", Nodes: strings.Repeat("alpha-a3-12345,", 5000), Jobs: make([]uint32, 1000)}
	require.NoError(t, send(t, path, h))
	assert.Equal(t, h, <-wakeUps)
}

func TestUntrustworthySocketIsNotUsed(t *testing.T) {
	in := func(name, want string, spoil func(t *testing.T, path string) error) {
		t.Run(name, func(t *testing.T) {
			path, wakeUps := listening(t)
			require.NoError(t, spoil(t, path))
			want = strings.ReplaceAll(want, "PATH", path)
			assert.EqualError(t, Send(t.Context(), path, someWakeUp), want)
			assert.Empty(t, wakeUps)

			_, err := Listen(t.Context(), path, "alpha", zap.NewNop())
			require.EqualError(t, err, want, "nor taken away")
			_, err = os.Lstat(path)
			assert.NoError(t, err)
		})
	}
	in("wrong mode", "PATH has mode 0620; others must have no access (0600)",
		func(_ *testing.T, path string) error { return os.Chmod(path, 0o620) })
	in("wrong owner", "PATH belongs to uid 12345, not to uid 0 or root; run the daemon as SlurmUser", anothers)
	in("not a socket", "PATH is not a socket; remove it and restart the daemon", aFile)
	in("a link to a socket", "PATH is not a socket; remove it and restart the daemon", aLink)
}

// anothers gives a file to another user.
func anothers(t *testing.T, path string) error { asRoot(t); return os.Chown(path, 12345, -1) }

// aFile replaces a file by a regular file; aLink replaces it by a link to the moved original.
func aFile(_ *testing.T, path string) error {
	return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
}

func aLink(_ *testing.T, path string) error {
	return errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path))
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can play another user")
	}
}

func TestCallerOfAnotherUserIsRejected(t *testing.T) {
	asRoot(t)
	path, wakeUps, log := heard(t, "alpha")
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o755))
	require.NoError(t, os.Chmod(path, 0o666))

	answer := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 12345, ^uintptr(0)); errno != 0 {
			answer <- errno
			return
		}
		conn, err := net.Dial("unix", path)
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		answer <- err
	}()
	assert.ErrorIs(t, <-answer, io.EOF)
	assert.Empty(t, wakeUps)
	require.Equal(t, 1, log.Len())
	assert.EqualError(t, log.All()[0].Context[0].Interface.(error), "caller has uid 12345, not 0 or 0")
}

func TestSocketOfAKilledDaemonIsReplaced(t *testing.T) {
	path := socketPath(t)
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	killed.SetUnlinkOnClose(false)
	require.NoError(t, killed.Close())
	require.NoError(t, os.Chmod(path, 0o600))
	err = Send(t.Context(), path, someWakeUp)
	require.ErrorIs(t, err, unix.ECONNREFUSED)
	require.NotErrorAs(t, err, new(UnreceiptedError), "nothing was sent")

	wakeUps, err := Listen(t.Context(), path, "alpha", zap.NewNop())
	require.NoError(t, err)
	arrives(t, path, wakeUps)
}

func TestSecondDaemonIsRejected(t *testing.T) {
	path, wakeUps := listening(t)
	_, err := Listen(t.Context(), path, "alpha", zap.NewNop())
	require.EqualError(t, err, "another daemon listens on "+path+"; stop it first")
	arrives(t, path, wakeUps) // the first daemon continues
}

func TestSocketNeedsAPrivateFolder(t *testing.T) {
	path := socketPath(t)
	dir := filepath.Dir(path)
	require.NoError(t, os.Chmod(dir, 0o720))
	_, err := Listen(t.Context(), path, "alpha", zap.NewNop())
	require.EqualError(t, err, "folder "+dir+" has mode 0720, so that others can reach into it; chmod 700 "+dir)
	assert.NoFileExists(t, path)
}
