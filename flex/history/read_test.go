package history

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/test/must"
)

// ada is the owner of job 812.
var ada = Who{Job: 812, User: "ada", Account: "ml", Partition: "train"}

// granted returns a wait of one hour with that id.
func granted(id string) Entry {
	return Entry{
		Version: 1, Kind: Wait, ID: id, NodeSet: "a3", Machine: "a3-highgpu-8g", Region: us, Zone: "us-central1-a", Count: 2, GPUs: 16,
		Seconds: 14400, From: At(noon), To: minutes(60), End: Granted, Attempts: 1,
		Who: ada,
	}
}

// used returns a lease of one hour with that id and two jobs.
func used(id string) Entry {
	return Entry{
		Version: 1, Kind: Lease, ID: id, NodeSet: "a3", Machine: "a3-highgpu-8g", Region: us, Zone: "us-central1-a", Node: node,
		Count: 1, GPUs: 8, Seconds: 14400, From: At(noon), To: At(noon) + 3600, FlexStart: true,
		Who: ada, Booting: 120,
		Uses: []Use{
			{Who: ada, From: At(noon) + 120, To: At(noon) + 1120},
			{Who: Who{Job: 815, Name: "813_2", User: "bob", Partition: "train"}, From: At(noon) + 1120, To: At(noon) + 3120},
		},
	}
}

// write writes text to a file in the folder, with a modification time that long before noon.
func write(t *testing.T, dir, name, text string, before time.Duration) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	require.NoError(t, os.Chtimes(path, noon, noon.Add(-before)))
}

func line(t testing.TB, e Entry) string {
	t.Helper()
	return string(must.Get(json.Marshal(e))) + "\n"
}

func idsOf(t *testing.T, dir string, kind Kind) (ids []string, tally Tally) {
	t.Helper()
	tally, err := Read(dir, "alpha", kind, func(e *Entry) { ids = append(ids, e.ID) })
	require.NoError(t, err)
	return ids, tally
}

func TestBadLinesAreCountedAndSkipped(t *testing.T) {
	dir := t.TempDir()
	good := line(t, granted("a"))
	for name, bad := range map[string]string{
		"no JSON":                 "rubbish\n",
		"an unknown kind":         strings.Replace(line(t, granted("x")), `"wait"`, `"walk"`, 1),
		"an end before its start": strings.Replace(line(t, granted("x")), "T13:", "T11:", 1),
		"a line without end":      strings.Repeat("x", 3*maxLine) + "\n",
		"another type":            strings.Replace(line(t, granted("x")), `"count":2`, `"count":[2]`, 1),
	} {
		write(t, dir, "history-alpha.jsonl", bad+good, 0)
		ids, tally := idsOf(t, dir, Wait)
		assert.Equal(t, []string{"a"}, ids, name)
		assert.Equal(t, Tally{Entries: 1, Bad: 1}, tally, name)
	}
	lease := used("x")
	lease.Booting = lease.Took() + 1
	write(t, dir, "history-alpha.jsonl", line(t, lease), 0)
	_, tally := idsOf(t, dir, Lease)
	assert.Equal(t, 1, tally.Bad, "a boot that exceeds the lease")
}

func TestTornLastLineIsSkippedAndTheNextIsKept(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "history-alpha.jsonl", line(t, granted("a"))+line(t, granted("b"))[:50], 0)
	ids, tally := idsOf(t, dir, Wait)
	assert.Equal(t, []string{"a"}, ids)
	assert.Zero(t, tally.Bad, "it may still be in progress")
	require.NoError(t, Append(dir, "alpha", false, []Entry{granted("c")}))
	ids, tally = idsOf(t, dir, Wait)
	assert.Equal(t, []string{"a", "c"}, ids)
	assert.Equal(t, 1, tally.Bad)
}

func TestRotatedFilesAreReadOldestFirst(t *testing.T) {
	dir := t.TempDir()
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(line(t, granted("a"))))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	again := granted("a")
	again.To++
	write(t, dir, "history-alpha.jsonl.2.gz", packed.String(), 2*time.Hour)
	write(t, dir, "history-alpha.jsonl-20261101", line(t, granted("b"))+line(t, again), time.Hour)
	write(t, dir, "history-alpha.jsonl", line(t, granted("c")), 0)
	write(t, dir, "history-beta.jsonl", line(t, granted("d")), 0)
	assert.Equal(t, []Entry{granted("a"), granted("b"), granted("c")}, (&world{T: t, dir: dir}).read(Wait), "the first line of an ID counts")
}

func TestConcurrentAppendsAreSafe(t *testing.T) {
	dir := t.TempDir()
	var side sync.WaitGroup
	for writer := range 4 {
		side.Go(func() {
			for i := range 50 {
				assert.NoError(t, Append(dir, "alpha", false, []Entry{granted(fmt.Sprint(writer, i)), used(fmt.Sprint(writer, i))}))
			}
		})
	}
	side.Wait()
	ids, tally := idsOf(t, dir, Wait)
	assert.Len(t, ids, 200)
	assert.Equal(t, Tally{Entries: 200}, tally)
}

func TestHistoryIsPrivateIfSlurmHidesJobs(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct {
		private    bool
		were, want os.FileMode
	}{{false, 0, 0o644}, {true, 0, 0o640}, {false, 0o600, 0o600}} { // an admin's mode is kept
		if step.were != 0 {
			require.NoError(t, os.Chmod(linesPath(dir, "alpha"), step.were))
		}
		require.NoError(t, Append(dir, "alpha", step.private, []Entry{granted("a")}))
		info, err := os.Stat(linesPath(dir, "alpha"))
		require.NoError(t, err)
		assert.Equal(t, step.want, info.Mode())
	}
}

func TestPrivateDataHidesTheWholeHistory(t *testing.T) {
	w := booting(t)
	w.gone()
	path := linesPath(w.dir, "alpha")
	require.NoError(t, os.Rename(path, path+".1")) // logrotate
	w.Machine(node, group)
	w.later(2)            // writes the open leases
	w.Snap.Private = true // an admin sets PrivateData=jobs
	w.look(time.Second)
	for _, name := range []string{path + ".1", openPath(w.dir, "alpha")} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o007, name)
	}
}

func TestUnwritableFolderIsOneWarning(t *testing.T) {
	w := booting(t)
	core, seen := observer.New(zapcore.WarnLevel)
	w.log, w.dir = zap.New(core), "/proc/none"
	w.restart()
	w.later(1)
	w.gone()
	w.gone()
	require.Len(t, seen.All(), 1)
	assert.Contains(t, seen.All()[0].Message, "set slurmflex.state_dir")
}

func TestUnreadableStateFileIsReplaced(t *testing.T) {
	w := booting(t)
	require.NoError(t, os.WriteFile(openPath(w.dir, "alpha"), []byte("{"), 0o644))
	w.restart()
	w.later(1)
	_, leases := w.all(Lease)
	assert.Len(t, leases, 1)
}

func TestLineWithEscapesAndUnknownKeysIsRead(t *testing.T) {
	dir := t.TempDir()
	e := granted("a")
	e.User = `a"b\c`
	text := strings.Replace(line(t, e), `"v":1,`, `"v":1,"color":"red","more":{"a":[1,2]},`, 1)
	write(t, dir, "history-alpha.jsonl", text, 0)
	assert.Equal(t, e, (&world{T: t, dir: dir}).only(Wait))
}

func TestLinesBeforeReadErrorAreTaken(t *testing.T) {
	broken := errors.New("input/output error")
	text := io.MultiReader(strings.NewReader(line(t, granted("a"))+line(t, granted("b"))+"{"), iotest.ErrReader(broken))
	var ids []string
	r := newReader(Wait, func(e *Entry) { ids = append(ids, e.ID) })
	require.ErrorIs(t, r.lines(bufio.NewReaderSize(text, maxLine)), broken)
	assert.Equal(t, []string{"a", "b"}, ids)
	assert.Zero(t, r.tally.Bad)
}
