package leader

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestFolderMustBePrivate(t *testing.T) {
	in := func(name, want string, spoil func(dir string) error) {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(want, "uid 0") && os.Geteuid() != 0 {
				t.Skip("needs root, to make another user's folder")
			}
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o700))
			require.NoError(t, CheckDir(dir))
			require.NoError(t, spoil(dir))
			require.EqualError(t, CheckDir(dir), strings.ReplaceAll(want, "DIR", dir))
		})
	}
	in("the group may write", "folder DIR has mode 0720, so that others can reach into it; chmod 700 DIR",
		func(dir string) error { return os.Chmod(dir, 0o720) })
	in("others may look", "folder DIR has mode 0705, so that others can reach into it; chmod 700 DIR",
		func(dir string) error { return os.Chmod(dir, 0o705) })
	in("it is another user's",
		"folder DIR belongs to uid 12345, and this is uid 0; run as its owner, who must be SlurmUser",
		func(dir string) error { return os.Chown(dir, 12345, -1) })
	in("it is a link", "DIR is not a folder; remove it, or set slurmflex.run_dir", func(dir string) error {
		return replaced(dir, func() error { return os.Symlink(filepath.Dir(dir), dir) })
	})
	in("it is a file", "DIR is not a folder; remove it, or set slurmflex.run_dir", func(dir string) error {
		return replaced(dir, func() error { return os.WriteFile(dir, nil, 0o600) })
	})
}

// replaced makes something else in an empty folder's place.
func replaced(dir string, makes func() error) error {
	if err := os.Remove(dir); err != nil {
		return err
	}
	return makes()
}

// C11: only for a file that may be foreign does the error advise to remove the file.
func TestFileErrorsNameTheRemedyForTheirCause(t *testing.T) {
	for cause, want := range map[error]string{
		unix.EMFILE: fmt.Sprintf("too many open files in this process; see ls -l /proc/%d/fd, and LimitNOFILE= of its unit", os.Getpid()),
		unix.ENFILE: "too many open files in system; see sysctl fs.file-nr and fs.file-max",
		unix.ENOSPC: "no space left on device; free space there",
		unix.EACCES: "permission denied; remove it if it is not ours",
		unix.ELOOP:  "too many levels of symbolic links; remove it if it is not ours",
		unix.EIO:    "input/output error",
	} {
		assert.EqualError(t, Advised(cause), want)
		assert.ErrorIs(t, Advised(cause), cause)
	}
}
