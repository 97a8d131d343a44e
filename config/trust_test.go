package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownFolder returns a folder that only this user can write.
func ownFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// lay creates a layout in a folder: files with a mode, "config.yaml 0644"; folders, "open/ 0777";
// and links, "config.yaml -> open/real.yaml". An entry with "given" gets another owner.
func lay(t *testing.T, dir, layout string) {
	t.Helper()
	for entry := range strings.SplitSeq(layout, "; ") {
		words := strings.Fields(entry)
		path := filepath.Join(dir, words[0])
		if words[1] == "->" {
			require.NoError(t, os.Symlink(strings.ReplaceAll(words[2], "DIR", dir), path))
			continue
		}
		if strings.HasSuffix(words[0], "/") {
			require.NoError(t, os.MkdirAll(path, 0o700))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(minimal), 0o600))
		}
		bits, err := strconv.ParseUint(words[1], 8, 32)
		require.NoError(t, err)
		mode := os.FileMode(bits & 0o777)
		if bits&0o1000 != 0 {
			mode |= os.ModeSticky
		}
		require.NoError(t, os.Chmod(path, mode)) // independent of the umask
		if len(words) > 2 {
			if os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			require.NoError(t, os.Chown(path, 12345, -1))
		}
	}
}

// C16, C15: owner, mode and kind of the file and of each folder above it.
func TestFileIsReadOnlyIfOnlyItsOwnerCanChangeIt(t *testing.T) {
	const others, folder = " is writable by other users (mode ", "), who could replace DIR/config.yaml; run chmod go-w DIR"
	for name, test := range map[string]struct {
		layout string // of DIR; the test loads config.yaml in it
		want   string // empty: the file is read
	}{
		"others may read it":                                  {"config.yaml 0444", ""},
		"its owner may write it":                              {"config.yaml 0644", ""},
		"its group may write it":                              {"config.yaml 0664", "DIR/config.yaml" + others + "0664); run chmod go-w DIR/config.yaml"},
		"all may write it":                                    {"config.yaml 0602", "DIR/config.yaml" + others + "0602); run chmod go-w DIR/config.yaml"},
		"all may write its folder":                            {"config.yaml 0644; ./ 0757", "folder DIR" + others + "0757" + folder},
		"all may write its folder, but not replace its files": {"config.yaml 0644; ./ 1777", ""},
		"it is a link to a safe file":                         {"real.yaml 0644; config.yaml -> real.yaml", ""},
		"it is a link to a file that others may write": {
			"real.yaml 0666; config.yaml -> real.yaml", "DIR/config.yaml" + others + "0666); run chmod go-w DIR/config.yaml",
		},
		"it is a link into a folder that others may write": {
			"open/ 0777; open/real.yaml 0644; config.yaml -> open/real.yaml", "folder DIR/open" + others + "0777" + folder + "/open",
		},
		"it is a link that others may replace": {
			"safe/ 0755; safe/real.yaml 0644; config.yaml -> safe/real.yaml; ./ 0775", "folder DIR" + others + "0775" + folder,
		},
		"it belongs to another user": {
			"config.yaml 0644 given", "DIR/config.yaml is owned by uid 12345, who could change it; run chown root DIR/config.yaml",
		},
		"its folder belongs to another user": {
			"his/ 0755 given; his/real.yaml 0644; config.yaml -> his/real.yaml",
			"folder DIR/his is owned by uid 12345, who could change it; run chown root DIR/his",
		},
		"it is a device": {"config.yaml -> /dev/zero", "open DIR/config.yaml: is not a regular file; use a regular file"},
		"its folder's folder is one that others may write": {
			"open/ 0777; open/safe/ 0755; open/safe/real.yaml 0644; config.yaml -> DIR/open/safe/real.yaml",
			"folder DIR/open" + others + "0777" + folder + "/open",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownFolder(t)
			lay(t, dir, test.layout)
			_, err := Load(dir + "/config.yaml")
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "read configuration: "+strings.ReplaceAll(test.want, "DIR", dir))
		})
	}
}

func TestPipeIsRead(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	_, err = write.WriteString(minimal)
	require.NoError(t, err)
	require.NoError(t, write.Close())
	_, err = Load(fmt.Sprintf("/proc/self/fd/%d", read.Fd()))
	require.NoError(t, err)
}

func TestCredentialsMustBePrivate(t *testing.T) {
	for mode, seen := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o620: true} {
		for name, key := range map[string]string{"key.json": "google_app_cred_path: %s", "link.json": "google_app_cred_path: '%s'"} {
			dir := ownFolder(t)
			lay(t, dir, fmt.Sprintf("key.json %04o; link.json -> key.json", mode))
			path := dir + "/" + name
			require.NoError(t, os.WriteFile(dir+"/config.yaml", []byte(minimal+fmt.Sprintf(key, path)+"\n"), 0o600))
			_, err := Load(dir + "/config.yaml")
			if !seen {
				require.NoError(t, err)
				continue
			}
			require.EqualError(t, err, fmt.Sprintf("%s/config.yaml: credentials file: %s is accessible to other users (mode %04o); run chmod 600 %[2]s", dir, path, mode))
		}
	}
}

func TestCredentialsInAWritableFolderAreRefused(t *testing.T) {
	dir := ownFolder(t)
	lay(t, dir, "open/ 0777; open/key.json 0600")
	assert.EqualError(t, CheckSecret(dir+"/open/key.json"),
		"folder "+dir+"/open is writable by other users (mode 0777), who could replace "+dir+"/open/key.json; run chmod go-w "+dir+"/open")
}

func TestMissingCredentialsAreNotAConfigError(t *testing.T) {
	dir := ownFolder(t)
	require.NoError(t, os.WriteFile(dir+"/config.yaml", []byte(minimal+"google_app_cred_path: "+dir+"/none.json\n"), 0o600))
	_, err := Load(dir + "/config.yaml")
	require.NoError(t, err, "files are also checked away from their cluster")
	assert.NoError(t, CheckSecret(""))
}

// C16: only SlurmUser may change a program that runs as SlurmUser.
func TestProgramThatOthersCanChangeIsRefused(t *testing.T) {
	dir := ownFolder(t)
	lay(t, dir, "program 0755")
	require.NoError(t, CheckProgram(dir+"/program"))
	require.NoError(t, CheckProgram(dir+"/gone"), "the caller reports it")
	lay(t, dir, "program 0777")
	assert.EqualError(t, CheckProgram(dir+"/program"), dir+"/program is writable by other users (mode 0777); run chmod go-w "+dir+"/program")
	lay(t, dir, "program 0755 given")
	assert.EqualError(t, CheckProgram(dir+"/program"), dir+"/program is owned by uid 12345, who could change it; run chown root "+dir+"/program")
}
