package setup

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/test/must"
)

func TestQuestionsAcceptTheirExamplesOnly(t *testing.T) {
	var a answers
	wrong := map[string][]string{
		"project": {"", "My Project", "a: b"}, "region": {"", "us-central1-a", "us"}, "partition": {"0", "a b", "x,y", "a: b"},
		"machine-type": {"", "a3", "A3-mega", "a3-x: y"}, "time": {"", "1 day", "0:00", "7-00:00:00", "UNLIMITED", "4h", "2-12", "1:2:3:4"},
	}
	for _, q := range a.Questions() {
		assert.NoError(t, q.check(q.Example))
		require.NotEmpty(t, wrong[q.Flag])
		for _, text := range wrong[q.Flag] {
			assert.ErrorContains(t, q.check(text), "--"+q.Flag, text)
		}
	}
}

func TestQuestionIsAskedUntilItIsAnswered(t *testing.T) {
	var a answers
	var said strings.Builder
	in := bufio.NewReader(strings.NewReader("My Project\nmy-project\nus-central1\n\n"))
	for _, q := range a.Questions()[:3] {
		require.NoError(t, q.ask(t.Context(), in, &said))
	}
	assert.Equal(t, answers{Project: "my-project", Region: "us-central1", Partition: "train"}, a)
	assert.Equal(t, "Project of the machines [for example my-project]: --project must look like my-project, not \"My Project\"\n"+
		"Project of the machines [for example my-project]: Region [for example us-central1]: Partition to create [train]: ", said.String())
	assert.EqualError(t, a.Questions()[3].ask(t.Context(), in, &said), "no answer; set --machine-type")
}

func TestInterruptEndsTheQuestions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe() // nobody writes an answer
	defer out.Close()
	time.AfterFunc(10*time.Millisecond, cancel)
	var a answers
	assert.EqualError(t, a.askOthers(ctx, a.Questions(), in, io.Discard), "interrupted; no file is written")
}

func TestConfigurationIsValidIfItsZonesAreOfTheRegion(t *testing.T) {
	a := answers{
		Cluster: "alpha", Project: "my-project", Region: "us-central1", Partition: "Train_1", Machine: "a3-megagpu-8g", Time: "2-00:00:00", Nodes: 8,
	}
	for _, zone := range []string{"b", "europe-west4-a", "us-central1", "us-central1-"} {
		a.Zones = []string{"us-central1-a", zone}
		assert.ErrorContains(t, a.askOthers(t.Context(), a.Questions(), nil, nil), "--zones: \""+zone+"\" is no zone of region us-central1")
	}
	for _, given := range [][]string{nil, {"us-central1-a", "us-central1-ai1a"}} { // Google's AI zones have such names
		a.Zones = given
		require.NoError(t, a.askOthers(t.Context(), a.Questions(), nil, nil))
		cfg := must.Get(config.Parse("config.yaml", []byte(a.config())))
		assert.Empty(t, cfg.Ignored)
		set := cfg.NodeSets[0]
		assert.Equal(t, 8, set.Size())
		assert.Equal(t, 48*time.Hour+10*time.Minute, set.Flex.MaxRunDuration)
		if given == nil {
			given = []string{"us-central1-b", "us-central1-c"}
		}
		assert.Equal(t, given, set.Zones)
	}
	assert.Contains(t, a.next("/c.yaml", "/flex.conf"), "Jobs of partition Train_1 may run for up to 2-00:00:00.")
}

func TestAllFilesAreCreatedOrNone(t *testing.T) {
	dir := t.TempDir()
	first, second := file{filepath.Join(dir, "a"), "1\n"}, file{filepath.Join(dir, "b"), "2\n"}
	require.NoError(t, os.WriteFile(second.Path, []byte("mine\n"), 0o600))
	assert.ErrorIs(t, create(first, second), os.ErrExist)
	assert.NoFileExists(t, first.Path)
	assert.Equal(t, "mine\n", must.Text(second.Path))
	require.NoError(t, os.Remove(second.Path))
	defer unix.Umask(unix.Umask(0o077))
	require.NoError(t, create(first, second))
	info, err := os.Stat(first.Path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode(), "SlurmUser reads it")
	assert.ErrorContains(t, checkNew(filepath.Join(dir, "no", "file")), "folder "+filepath.Join(dir, "no")+" does not exist; create it")
	assert.ErrorContains(t, checkNew(filepath.Join(first.Path, "file")), "not a directory")
}

// slurmctld reads flex.conf and job_submit.lua as SlurmUser, which may read them as a member of their
// group only.
func TestReplacedFileKeepsItsModeItsGroupAndItsLinks(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("old"), nil, 0o640))
	require.NoError(t, os.Symlink("old", in("link")))
	group := uint32(os.Getegid())
	if os.Geteuid() == 0 { // who can give files away
		group = 64030
		require.NoError(t, os.Chown(in("old"), 0, int(group)))
	}
	require.NoError(t, checkOutput(in("link")))
	require.NoError(t, replace(in("link"), "new\n"))
	info, err := os.Stat(in("old"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode())
	assert.Equal(t, group, info.Sys().(*syscall.Stat_t).Gid)
	assert.Equal(t, "new\n", must.Text(in("old")))
	assert.ErrorContains(t, checkOutput(dir), "is a folder; name a file in it")
	assert.ErrorContains(t, checkOutput("/dev/null"), "is not a regular file")
	assert.ErrorContains(t, checkOutput(in("gone/file")), "folder "+in("gone")+" does not exist; create it first")
}
