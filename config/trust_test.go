package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownFolder is a folder that only we may write.
func ownFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// chmod sets a mode whatever the umask is.
func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(path, mode))
}

// write writes a file of that mode.
func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	chmod(t, path, mode)
}

func folder(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Mkdir(path, 0o700))
	chmod(t, path, mode)
}

func link(t *testing.T, to, path string) {
	t.Helper()
	require.NoError(t, os.Symlink(to, path))
}

// give makes a file or folder another user's.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	require.NoError(t, os.Chown(path, 12345, -1))
}

// C16, C15: owner, mode and kind of the file and of each folder above it.
func TestAFileIsOnlyReadIfItsOwnerAloneCanChangeIt(t *testing.T) {
	tests := map[string]struct {
		lay  func(t *testing.T, dir string) // what there is in DIR; DIR/config.yaml is loaded
		want string                         // empty: it is read
	}{
		"others may read it":     {func(t *testing.T, dir string) { write(t, dir+"/config.yaml", minimal, 0o444) }, ""},
		"its owner may write it": {func(t *testing.T, dir string) { write(t, dir+"/config.yaml", minimal, 0o644) }, ""},
		"its group may write it": {
			func(t *testing.T, dir string) { write(t, dir+"/config.yaml", minimal, 0o664) },
			"DIR/config.yaml is writable by other users (mode 0664); run chmod go-w DIR/config.yaml",
		},
		"all may write it": {
			func(t *testing.T, dir string) { write(t, dir+"/config.yaml", minimal, 0o602) },
			"DIR/config.yaml is writable by other users (mode 0602); run chmod go-w DIR/config.yaml",
		},
		"all may write its folder": {
			func(t *testing.T, dir string) {
				write(t, dir+"/config.yaml", minimal, 0o644)
				chmod(t, dir, 0o757)
			},
			"folder DIR is writable by other users (mode 0757), who could replace DIR/config.yaml; run chmod go-w DIR",
		},
		"all may write its folder, but not exchange what is in it": {
			func(t *testing.T, dir string) {
				write(t, dir+"/config.yaml", minimal, 0o644)
				chmod(t, dir, 0o777|os.ModeSticky)
			}, "",
		},
		"it is a link to a file as it should be": {
			func(t *testing.T, dir string) {
				write(t, dir+"/real.yaml", minimal, 0o644)
				link(t, "real.yaml", dir+"/config.yaml")
			}, "",
		},
		"it is a link to a file that others may write": {
			func(t *testing.T, dir string) {
				write(t, dir+"/real.yaml", minimal, 0o666)
				link(t, "real.yaml", dir+"/config.yaml")
			},
			"DIR/config.yaml is writable by other users (mode 0666); run chmod go-w DIR/config.yaml",
		},
		"it is a link into a folder that others may write": {
			func(t *testing.T, dir string) {
				folder(t, dir+"/open", 0o777)
				write(t, dir+"/open/real.yaml", minimal, 0o644)
				link(t, "open/real.yaml", dir+"/config.yaml")
			},
			"folder DIR/open is writable by other users (mode 0777), who could replace DIR/config.yaml; run chmod go-w DIR/open",
		},
		"it is a link that others may exchange": {
			func(t *testing.T, dir string) {
				folder(t, dir+"/safe", 0o755)
				write(t, dir+"/safe/real.yaml", minimal, 0o644)
				link(t, "safe/real.yaml", dir+"/config.yaml")
				chmod(t, dir, 0o775)
			},
			"folder DIR is writable by other users (mode 0775), who could replace DIR/config.yaml; run chmod go-w DIR",
		},
		"it belongs to another user": {
			func(t *testing.T, dir string) {
				write(t, dir+"/config.yaml", minimal, 0o644)
				give(t, dir+"/config.yaml")
			},
			"DIR/config.yaml is owned by uid 12345, who could change it; run chown root DIR/config.yaml",
		},
		"its folder belongs to another user": {
			func(t *testing.T, dir string) {
				folder(t, dir+"/his", 0o755)
				write(t, dir+"/his/real.yaml", minimal, 0o644)
				link(t, "his/real.yaml", dir+"/config.yaml")
				give(t, dir+"/his")
			},
			"folder DIR/his is owned by uid 12345, who could change it; run chown root DIR/his",
		},
		"it is a device": {
			func(t *testing.T, dir string) { link(t, "/dev/zero", dir+"/config.yaml") },
			"open DIR/config.yaml: is no regular file; give one",
		},
		"its folder's folder is one that others may write": {
			func(t *testing.T, dir string) {
				folder(t, dir+"/open", 0o777)
				folder(t, dir+"/open/safe", 0o755)
				write(t, dir+"/open/safe/real.yaml", minimal, 0o644)
				link(t, dir+"/open/safe/real.yaml", dir+"/config.yaml")
			},
			"folder DIR/open is writable by other users (mode 0777), who could replace DIR/config.yaml; run chmod go-w DIR/open",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := ownFolder(t)
			test.lay(t, dir)
			_, err := Load(dir + "/config.yaml")
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "read configuration: "+strings.ReplaceAll(test.want, "DIR", dir))
		})
	}
}

func TestAPipeIsReadAsItIs(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	_, err = write.WriteString(minimal)
	require.NoError(t, err)
	require.NoError(t, write.Close())
	_, err = Load(fmt.Sprintf("/proc/self/fd/%d", read.Fd()))
	require.NoError(t, err)
}

func TestCredentialsAreSeenByTheirOwnerOnly(t *testing.T) {
	for mode, want := range map[os.FileMode]string{
		0o600: "", 0o400: "",
		0o640: "DIR/key.json is accessible to other users (mode 0640); run chmod 600 DIR/key.json",
		0o604: "DIR/key.json is accessible to other users (mode 0604); run chmod 600 DIR/key.json",
		0o620: "DIR/key.json is accessible to other users (mode 0620); run chmod 600 DIR/key.json",
	} {
		for _, key := range []string{"google_app_cred_path: DIR/key.json", "slurmflex: {credentials_file: DIR/link.json}"} {
			dir := ownFolder(t)
			write(t, dir+"/key.json", "{}", mode)
			link(t, "key.json", dir+"/link.json")
			write(t, dir+"/config.yaml", minimal+strings.ReplaceAll(key, "DIR", dir)+"\n", 0o644)
			_, err := Load(dir + "/config.yaml")
			if want == "" {
				require.NoError(t, err)
				continue
			}
			want := strings.ReplaceAll(want, "DIR", dir)
			if strings.Contains(key, "link") {
				want = strings.ReplaceAll(want, "key.json", "link.json")
			}
			require.EqualError(t, err, dir+"/config.yaml: credentials file: "+want)
		}
	}
}

func TestCredentialsInAFolderThatOthersMayWriteAreRefused(t *testing.T) {
	dir := ownFolder(t)
	folder(t, dir+"/open", 0o777)
	write(t, dir+"/open/key.json", "{}", 0o600)
	assert.EqualError(t, CheckSecret(dir+"/open/key.json"),
		"folder "+dir+"/open is writable by other users (mode 0777), who could replace "+dir+"/open/key.json; run chmod go-w "+dir+"/open")
}

func TestCredentialsThatAreNotThereAreForWhoeverReadsThemToName(t *testing.T) {
	dir := ownFolder(t)
	write(t, dir+"/config.yaml", minimal+"google_app_cred_path: "+dir+"/none.json\n", 0o644)
	_, err := Load(dir + "/config.yaml")
	require.NoError(t, err, "a file is checked far from its cluster too")
	assert.NoError(t, CheckSecret(""))
}

// C16: a program that SlurmUser runs is nobody else's to change.
func TestAProgramThatOthersCanChangeIsNotRun(t *testing.T) {
	dir := ownFolder(t)
	write(t, dir+"/program", "#!/bin/sh\n", 0o755)
	require.NoError(t, CheckProgram(dir+"/program"))
	require.NoError(t, CheckProgram(dir+"/gone"), "its caller says so")
	chmod(t, dir+"/program", 0o777)
	assert.EqualError(t, CheckProgram(dir+"/program"), dir+"/program is writable by other users (mode 0777); run chmod go-w "+dir+"/program")
	chmod(t, dir+"/program", 0o755)
	give(t, dir+"/program")
	assert.EqualError(t, CheckProgram(dir+"/program"), dir+"/program is owned by uid 12345, who could change it; run chown root "+dir+"/program")
}
