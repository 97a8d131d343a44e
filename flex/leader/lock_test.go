package leader

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/test/must"
)

// take takes a lock that is available.
func take(t *testing.T, lock Lock) (release func()) {
	release, err := lock.Take(t.Context(), false)
	assert.NoError(t, err)
	return release
}

func TestLockAllowsOnePassAndOneWaiter(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	synctest.Test(t, func(t *testing.T) {
		release := take(t, lock)
		assert.False(t, lock.Awaited())
		second := make(chan func())
		go func() { second <- take(t, lock) }()
		time.Sleep(time.Minute)
		select {
		case <-second:
			t.Fatal("two passes at once")
		default:
		}

		assert.True(t, lock.Awaited())
		_, err := lock.Take(t.Context(), false)
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
	core, logged := observer.New(zap.InfoLevel)
	lock := Lock{Dir: privateFolder(t), Log: zap.New(core)}
	synctest.Test(t, func(t *testing.T) {
		release := take(t, lock)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := lock.Take(ctx, false)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "lock "+filepath.Join(lock.Dir, "round.lock")+": context deadline exceeded")
		assert.Equal(t, 1, logged.FilterMessageSnippet("still waiting").Len())

		release()
		take(t, lock)() // the waiter that stopped does not block the queue
	})
}

// privateFolder creates a folder suitable for a lock.
func privateFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

func TestLockFileMustNotBeALink(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	target := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.Symlink(target, filepath.Join(lock.Dir, "next.lock")))
	_, err := lock.Take(t.Context(), false)
	require.ErrorContains(t, err, "next.lock: too many levels of symbolic links; remove it if it is not ours")
	assert.NoFileExists(t, target)
}

func TestHeldLockIsUsableAndPrivate(t *testing.T) {
	lock := Lock{Dir: privateFolder(t)}
	defer take(t, lock)()
	require.NoError(t, lock.Usable())
	files := must.Get(os.ReadDir(lock.Dir))
	require.Len(t, files, 2)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), f.Name())
	}
}
