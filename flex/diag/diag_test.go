package diag

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unpack returns the files of an archive.
func unpack(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	packed, err := gzip.NewReader(archive)
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.EqualValues(t, 0o600, h.Mode)
		files[strings.TrimPrefix(h.Name, "slurmflex-diag/")] = string(text)
	}
}

func always(text string, err error) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), err }
}

func TestArchiveListsWhatItHoldsAndLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		index := &Index{Title: "title"}
		hangs := func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return []byte("half"), context.Cause(ctx)
		}
		begun := time.Now()
		require.NoError(t, Write(t.Context(), &b, index, []Part{
			{"good.txt", "all of it", always("text\n", nil)},
			{"gone.txt", "none of it", always("", errors.New("it is\ngone with api_token=abc"))},
			{"partial.txt", "a part", always("partial\n", errors.New("exit status 1"))},
			{"hangs.txt", "a hanging command", hangs},
			{"long.txt", "too much", always(strings.Repeat("x", sizeLimit+7), nil)},
		}, begun))
		assert.Equal(t, time.Minute, time.Since(begun))
		files := unpack(t, &b)
		assert.Len(t, files["long.txt"], sizeLimit)
		delete(files, "long.txt")
		assert.Equal(t, map[string]string{"good.txt": "text\n", "partial.txt": "partial\n", "hangs.txt": "half", "INDEX.txt": index.String()}, files)
		assert.Equal(t, `title
good.txt                       5 bytes  all of it
gone.txt                  not included  none of it: it is gone with api_token=REMOVED
partial.txt                    8 bytes  a part: exit status 1
hangs.txt                      4 bytes  a hanging command: no end within 1m0s
long.txt                16777216 bytes  too much: cut: 7 more bytes
`, index.String())
	})
}

func TestInterruptedArchiveIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, Write(ctx, io.Discard, &Index{}, nil, time.Now()), context.Canceled)
}

func TestCommandIsKilledWithItsChildren(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("too slow"))
	defer cancel()
	begun := time.Now()
	text, err := command(true, "/bin/sh", "-c", "echo early; sleep 600 & wait")(ctx)
	assert.Equal(t, "early\n", string(text))
	assert.ErrorContains(t, err, "too slow")
	assert.Less(t, time.Since(begun), time.Minute)
}

func TestCommandKeepsJSONApartFromErrors(t *testing.T) {
	text, err := command(false, "/bin/sh", "-c", "echo '{}'; echo wrong >&2; exit 3")(t.Context())
	assert.Equal(t, "{}\n", string(text))
	assert.EqualError(t, err, "exit status 3\nwrong")
	text, err = command(false, "/nowhere/scontrol")(t.Context())
	assert.Empty(t, text)
	assert.ErrorContains(t, err, "no such file or directory")
	text, err = command(false, "/bin/sh", "-c", "head -c 20000000 /dev/zero")(t.Context())
	require.NoError(t, err)
	assert.Len(t, text, sizeLimit+1)
}

func TestLogStartsAtTheRequestedTime(t *testing.T) {
	const log = `{"level":"info","ts":"2026-11-25T13:59:59Z","msg":"old"}
2026-11-25T13:59:59Z info old too
{"level":"info","ts":"2026-11-25T14:00:00Z","msg":"new"}
a line without a time
2026-11-25T15:01:00+01:00 info newer
`
	_, new, _ := strings.Cut(log, "too\n")
	from := time.Date(2026, 11, 25, 14, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "slurmflex.log")
	require.NoError(t, os.WriteFile(path, []byte(log), 0o600))
	text, err := Host{LogFile: path, Since: from}.logFile(t.Context())
	require.NoError(t, err)
	assert.Equal(t, new, string(text))
	_, err = Host{LogFile: path, Since: from.Add(time.Hour)}.logFile(t.Context())
	assert.ErrorContains(t, err, "lacks lines of that time")

	long := strings.Repeat("2026-11-25T14:00:01Z info some text\n", 1+sizeLimit/36)
	require.NoError(t, os.WriteFile(path, []byte(long), 0o600))
	text, err = Host{LogFile: path, Since: from}.logFile(t.Context())
	require.NoError(t, err)
	assert.LessOrEqual(t, len(text), sizeLimit)
	assert.True(t, strings.HasPrefix(string(text), "2026-11-25T14:00:01Z"))
}

func TestOnlyTranscriptsAreAccepted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trial.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("root:x:0:0\n"), 0o600))
	text, err := Host{Trial: path}.transcript(t.Context())
	assert.Empty(t, text)
	assert.ErrorContains(t, err, "is not a transcript")
	require.NoError(t, os.WriteFile(path, []byte(`{"transcript":1,"slurmflex":"v1","region":"us-central1"}`+"\n"), 0o600))
	text, err = Host{Trial: path}.transcript(t.Context())
	require.NoError(t, err)
	assert.NotEmpty(t, text)
}

func TestArchiveReplacesNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const name = "slurmflex-diag-alpha-19700101T000000Z.tar.gz"
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	_, err := Archive(t.Context(), Host{}, "alpha", "", time.Unix(0, 0))
	require.ErrorIs(t, err, os.ErrExist)
	assert.ErrorContains(t, err, name)
}
