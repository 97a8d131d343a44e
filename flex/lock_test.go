package flex

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOneRoundIsUnderWayAndOneWaits(t *testing.T) {
	lock := Lock{Dir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		release, err := lock.Take(t.Context())
		require.NoError(t, err)
		second := make(chan func())
		go func() {
			release, err := lock.Take(t.Context())
			assert.NoError(t, err)
			second <- release
		}()
		time.Sleep(time.Minute)
		select {
		case <-second:
			t.Fatal("two rounds at once")
		default:
		}

		_, err = lock.Take(t.Context())
		require.ErrorIs(t, err, ErrQueued, "a third one")

		release()
		release = <-second
		third := make(chan func())
		go func() {
			release, err := lock.Take(t.Context())
			assert.NoError(t, err)
			third <- release
		}()
		time.Sleep(time.Minute)
		release()
		(<-third)()
	})
}

func TestWaitingForTheLockEndsWithItsContext(t *testing.T) {
	lock := Lock{Dir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		release, err := lock.Take(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = lock.Take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "lock "+filepath.Join(lock.Dir, "round.lock")+": context deadline exceeded")

		release()
		release, err = lock.Take(t.Context())
		require.NoError(t, err, "whoever gave up is not in the way")
		release()
	})
}

func TestTheLockOfAProcessThatDiesIsFree(t *testing.T) {
	lock := Lock{Dir: t.TempDir()}
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
	release, err := lock.Take(t.Context())
	require.NoError(t, err)
	release()
	assert.ErrorContains(t, holder.Wait(), "killed")
}

func TestALockThatCannotBeTakenNamesTheMend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for name, problem := range map[string]func() error{
		"take":   func() error { _, err := Lock{Dir: dir}.Take(t.Context()); return err },
		"usable": Lock{Dir: dir}.Usable,
	} {
		assert.EqualError(t, problem(), "open "+dir+"/next.lock: no such file or directory; create folder "+dir+
			" for the user that runs slurmctld, or set slurmflex.run_dir", name)
	}
}

func TestALockFileIsNeverReachedThroughALink(t *testing.T) {
	lock := Lock{Dir: t.TempDir()}
	target := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.Symlink(target, filepath.Join(lock.Dir, "next.lock")))
	_, err := lock.Take(t.Context())
	require.Error(t, err)
	assert.NoFileExists(t, target)
}

func TestALockIsUsableWhoeverHoldsIt(t *testing.T) {
	lock := Lock{Dir: t.TempDir()}
	release, err := lock.Take(t.Context())
	require.NoError(t, err)
	defer release()
	assert.NoError(t, lock.Usable())
}

func TestLockFilesAreForTheirOwnerOnly(t *testing.T) {
	lock := Lock{Dir: t.TempDir()}
	release, err := lock.Take(t.Context())
	require.NoError(t, err)
	release()
	files, err := os.ReadDir(lock.Dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), f.Name())
	}
}
