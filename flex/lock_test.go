package flex

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// take takes a lock that is available.
func take(t *testing.T, lock Lock) (release func()) {
	release, err := lock.Take(t.Context())
	assert.NoError(t, err)
	return release
}

func TestLockAllowsOnePassAndOneWaiter(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	synctest.Test(t, func(t *testing.T) {
		release := take(t, lock)
		second := make(chan func())
		go func() { second <- take(t, lock) }()
		time.Sleep(time.Minute)
		select {
		case <-second:
			t.Fatal("two passes at once")
		default:
		}

		_, err := lock.Take(t.Context())
		require.ErrorIs(t, err, ErrQueued, "a third one")

		release()
		release = <-second
		third := make(chan func())
		go func() { third <- take(t, lock) }()
		time.Sleep(time.Minute)
		release()
		(<-third)()
	})
}

func TestLockWaitEndsWithItsContext(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	synctest.Test(t, func(t *testing.T) {
		release := take(t, lock)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := lock.Take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "lock "+filepath.Join(lock.Dir, "round.lock")+": context deadline exceeded")

		release()
		take(t, lock)() // the waiter that stopped does not block the queue
	})
}

func TestDeadProcessReleasesItsLock(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	holder := as(t, roleHolder)
	holder.Dir = lock.Dir
	stdin, err := holder.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", said)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = lock.Take(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, holder.Process.Kill())
	release := take(t, lock)
	release()
	assert.ErrorContains(t, holder.Wait(), "killed")
}

func TestLockErrorNamesTheRemedy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for name, problem := range map[string]func() error{
		"take":   func() error { _, err := Lock{Dir: dir}.Take(t.Context()); return err },
		"usable": Lock{Dir: dir}.Usable,
	} {
		assert.EqualError(t, problem(), "lstat "+dir+": no such file or directory; create folder "+dir+
			" with mode 0700 for the user that runs slurmctld, or set slurmflex.run_dir", name)
	}
}

// privateFolder creates a folder suitable for a lock and a socket.
func privateFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

func TestLockAndSocketNeedAPrivateFolder(t *testing.T) {
	in := func(name, want string, spoil func(t *testing.T, dir string) error) {
		t.Run(name, func(t *testing.T) {
			dir := privateFolder(t)
			require.NoError(t, spoil(t, dir))
			want = strings.ReplaceAll(want, "DIR", dir)
			_, err := Lock{Dir: dir}.Take(t.Context())
			require.EqualError(t, err, want)
			require.EqualError(t, Lock{Dir: dir}.Usable(), want)
			_, err = Listen(t.Context(), SocketPath(dir), "alpha", zap.NewNop())
			require.EqualError(t, err, want)
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			assert.Empty(t, left)
		})
	}
	in("the group may write", "folder DIR has mode 0720, so that others can reach into it; chmod 700 DIR",
		func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o720) })
	in("others may look", "folder DIR has mode 0705, so that others can reach into it; chmod 700 DIR",
		func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o705) })
	in("it is another user's",
		"folder DIR belongs to uid 12345, and this is uid 0; run as its owner, who must be SlurmUser", anothers)
	in("it is a link", "DIR is not a folder; remove it, or set slurmflex.run_dir", aLink)
	in("it is a file", "DIR is not a folder; remove it, or set slurmflex.run_dir", aFile)
}

func TestLockFileMustNotBeALink(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	target := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.Symlink(target, filepath.Join(lock.Dir, "next.lock")))
	_, err := lock.Take(t.Context())
	require.ErrorContains(t, err, "next.lock: too many levels of symbolic links; remove it if it is not ours")
	assert.NoFileExists(t, target)
}

func TestHeldLockIsUsable(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	defer take(t, lock)()
	assert.NoError(t, lock.Usable())
}

func TestLockFilesAreAccessibleToTheirOwnerOnly(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	take(t, lock)()
	files, err := os.ReadDir(lock.Dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), f.Name())
	}
}
